"""Policies: for how many days after its end a project keeps a run's texts, and which runs are due by that.

A profile's own policy stands in for the project's, whether it keeps longer or not. A run that nobody's policy names is
kept for ever; so is one under a legal hold, and a run within another goes with that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit import log as audit
from apps.audit.log import JSON, Entry
from apps.core.errors import Invalid, NotFound
from apps.runs.erased import lock
from apps.runs.models import LegalHold, Policy, Run
from apps.runs.models.retention import MOST_DAYS
from apps.runs.retention.holds import clean_reason
from apps.workers.models import Profile


class NoSuchPolicy(NotFound):
    """The project has none for this profile."""

    def __init__(self) -> None:
        super().__init__("This policy is not there any more: somebody else took it away.")


@transaction.atomic
def set_policy(
    *, project: Project, profile: str, keep_days: int | None, reason: str, by: User, now: datetime
) -> Policy:
    """Keep the texts of the project's runs, or of those under `profile`, for so long after their end; None: for ever.

    :raises NotAllowed: `by` is no admin of the project. :raises Invalid: with the field at fault.
    """
    check_may(by, Deed.ADMINISTER, project)
    said, days = clean_reason(reason), clean_days(keep_days)
    _check_profile(project, profile)
    lock(project)
    before = Policy.objects.select_for_update().filter(project=project, profile=profile).first()
    if before is not None and before.keep_days == days:
        return before
    given = {"keep_days": days, "set_by": by, "set_at": now}
    policy, _ = Policy.objects.update_or_create(project=project, profile=profile, defaults=given)
    told: dict[str, JSON] = {"profile": profile, "keep_days": days}
    if before is not None:
        told["before_days"] = before.keep_days
    _leave(project, Entry("policy.set", told, {"reason": said}), by=by, at=now)
    return policy


@transaction.atomic
def drop_policy(*, policy: Policy, reason: str, by: User, now: datetime) -> None:
    """Take a policy away: what it named follows the project's, or is kept for ever.

    :raises NotAllowed: `by` is no admin of the project. :raises NoSuchPolicy: somebody was faster. :raises Invalid:
        no reason is given.
    """
    check_may(by, Deed.ADMINISTER, policy.project)
    said = clean_reason(reason)
    lock(policy.project)
    deleted, _ = Policy.objects.filter(pk=policy.pk).delete()
    if not deleted:
        raise NoSuchPolicy
    told = {"profile": policy.profile, "before_days": policy.keep_days}
    _leave(policy.project, Entry("policy.dropped", told, {"reason": said}), by=by, at=now)


def clean_days(days: int | None) -> int | None:
    """:raises Invalid: fewer than a day, or more than a hundred years."""
    if days is not None and not 1 <= days <= MOST_DAYS:
        raise Invalid(f"Give a number of days from 1 to {MOST_DAYS:,}, or none to keep texts for ever.", field="days")
    return days


def _check_profile(project: Project, profile: str) -> None:
    """A profile that is gone may still be named: its runs are there. :raises Invalid: there never was one."""
    named = Q(slug=profile)
    known = not profile or Profile.objects.filter(named & (Q(project=project) | Q(project=None))).exists()
    if not known and not Run.objects.filter(project=project, profile=profile).exists():
        raise Invalid(f"There is no profile “{profile[:63]}” in this project.", field="profile")


def _leave(project: Project, entry: Entry, *, by: User, at: datetime) -> None:
    subject = f"project:{project.slug}"
    audit.append(f"retention:{project.slug}", [entry], by=by.actor, at=at, subject=subject, project=project.slug)


# --- what is due ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What a policy says, saved or not: the runs it names, and how long their texts are kept."""

    profile: str
    keep_days: int | None

    @property
    def facts(self) -> dict[str, Any]:
        return {"profile": self.profile, "keep_days": self.keep_days}


def rules_of(project: Project) -> list[Rule]:
    """The project's policies as they stand, the one for all profiles first."""
    rows = Policy.objects.filter(project=project).order_by("profile")
    return [Rule(policy.profile, policy.keep_days) for policy in rows]


def with_rule(rules: Sequence[Rule], rule: Rule) -> list[Rule]:
    """`rules` as they would be if `rule` were saved, too."""
    others = [each for each in rules if each.profile != rule.profile]
    return sorted([*others, rule], key=lambda each: each.profile)


def rule_for(run: Run, rules: Sequence[Rule]) -> Rule | None:
    """The rule that a run's texts are kept by."""
    named = {rule.profile: rule for rule in rules}
    return named.get(run.profile, named.get(""))


def due(project: Project, rules: Sequence[Rule], *, now: datetime) -> "QuerySet[Run]":
    """The project's runs whose time has come by `rules` and that no hold keeps, longest over first."""
    return _over(project, rules, now=now).exclude(_held()).order_by("finished_at", "pk")


def held_back(project: Project, rules: Sequence[Rule], *, now: datetime) -> "QuerySet[Run]":
    """Those whose time has come, and that a hold keeps."""
    return _over(project, rules, now=now).filter(_held())


def _over(project: Project, rules: Sequence[Rule], *, now: datetime) -> "QuerySet[Run]":
    conditions = Q(pk__in=[])
    for rule in rules:
        if rule.keep_days is not None:
            conditions |= _named_by(rule, rules) & Q(finished_at__lte=now - timedelta(days=rule.keep_days))
    ended = Run.objects.ended().asked_for().filter(project=project, erased_at=None)
    return ended.filter(conditions).select_related("project", "owner")


def _named_by(rule: Rule, rules: Sequence[Rule]) -> Q:
    if rule.profile:
        return Q(profile=rule.profile)
    return ~Q(profile__in=[each.profile for each in rules if each.profile])


def _held() -> Exists:
    holds = LegalHold.objects.filter(project=OuterRef("project"), lifted_at=None)
    return Exists(holds.filter(Q(run=None) | Q(run=OuterRef("pk"))))
