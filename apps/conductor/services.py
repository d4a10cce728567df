"""Keeping what planners have learnt, and finding it again."""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction

from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.conductor.models import Learnt
from apps.core.errors import Unavailable

TRAIL = "pool"


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
