"""Keeping what planners have learnt, and finding it again."""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import Project
from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.conductor.models import Learnt
from apps.core.errors import Invalid, Unavailable
from apps.workers.models import Worker

TRAIL = "pool"
NO_EMBEDDER = "none"


class LearntMissing(Unavailable):
    """What a run was to plan by is gone."""


@transaction.atomic
def keep_learnt(
    *, planner: str, body: Mapping[str, Any], trained_on: Mapping[str, Any], by: Actor, now: datetime
) -> Learnt:
    """Keep what a training came to: runs submitted from now on plan by it."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    learnt = Learnt.objects.create(
        planner=planner,
        body=body,
        digest=sha256(text.encode()).hexdigest(),
        trained_on=trained_on,
        by_label=by.label,
        created_at=now,
    )
    told: dict[str, Any] = {
        "planner": planner,
        "learnt": learnt.pk,
        "digest": learnt.digest,
        "trained_on": dict(trained_on),
    }
    log.append(TRAIL, [Entry("planner.trained", told)], by=by, at=now, subject="pool", project="")
    return learnt


def latest_learnt(planner: str) -> dict[str, Any] | None:
    """What a run freezes of the newest training of `planner`: {"id", "digest"}; None where there was none."""
    newest = Learnt.objects.filter(planner=planner).order_by("-pk").only("pk", "digest").first()
    return None if newest is None else {"id": newest.pk, "digest": newest.digest}


def learnt_body(frozen: Mapping[str, Any]) -> dict[str, Any]:
    """What a run froze, whole. :raises LearntMissing: it is gone."""
    learnt = Learnt.objects.filter(pk=frozen["id"]).first()
    if learnt is None:
        raise LearntMissing("What this planner had learnt was deleted. Train it again, or choose another profile.")
    body: dict[str, Any] = learnt.body
    return body


def embedder_of(
    planner: str, *, learnt: Mapping[str, Any] | None, options: Mapping[str, Any], project: Project
) -> dict[str, Any] | None:
    """The worker whose vectors `planner` goes by, as it is now; None where it goes by none, or the worker is gone.

    A router goes by the one it was trained on. Smoothie goes by the one its option `embedder` names, else by the only
    one that `project` may use.

    :raises Invalid: the option names none.
    """
    offered = Worker.objects.usable_in(project).enabled().filter(embeds=True)
    if planner == "smoothie":
        worker = _chosen_embedder(offered, options.get("embedder"))
    elif learnt is not None:
        slug = Learnt.objects.filter(pk=learnt["id"]).values_list("body__embedder", flat=True).first()
        worker = offered.filter(slug=slug).first() if slug else None
    else:
        worker = None
    return None if worker is None else worker.freeze()


def only_one(offered: QuerySet[Worker]) -> Worker | None:
    """The only one of `offered`; None where there are more, or none."""
    found = list(offered[:2])
    return found[0] if len(found) == 1 else None


def _chosen_embedder(offered: QuerySet[Worker], wanted: object) -> Worker | None:
    if wanted is None:
        return only_one(offered)
    if wanted == NO_EMBEDDER:
        return None
    worker = offered.filter(slug=wanted).first() if isinstance(wanted, str) else None
    if worker is None:
        raise Invalid(f"“{str(wanted)[:63]}” is no enabled embedding worker.", field="options")
    return worker
