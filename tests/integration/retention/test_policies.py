"""Policies: what is due by them, what keeps it all the same, and what each day erases."""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import Project, User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs import tasks
from apps.runs.models import Policy, Run
from apps.runs.retention.applying import apply_policies, outlook
from apps.runs.retention.holds import place_hold
from apps.runs.retention.policies import NoSuchPolicy, Rule, drop_policy, rules_of, set_policy, with_rule
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.retention.planted import WORD, forked, planted_run, where_is

WHY = "As agreed with the works council."


@pytest.fixture
def project(admin: User) -> Project:
    assert admin.home_project is not None
    return admin.home_project


def keep(project: Project, days: int | None, *, by: User, profile: str = "", now: datetime = NOON) -> Policy:
    return set_policy(project=project, profile=profile, keep_days=days, reason=WHY, by=by, now=now)


def over(by: User, *, on: datetime, profile: str = "studio-ultra") -> Run:
    """A run that ended on that day."""
    run = planted_run(by, share=False)
    Run.objects.filter(pk=run.pk).update(finished_at=on, heart_at=on, profile=profile)
    return Run.objects.get(pk=run.pk)


def going(project: Project, *, on: datetime) -> list[Run]:
    return [each.run for each in outlook(project, now=on).going]


class TestWhatIsDue:
    def test_a_run_is_due_so_many_days_after_its_end_and_not_a_moment_before(
        self, project: Project, admin: User
    ) -> None:
        run = over(admin, on=NOON)
        keep(project, 30, by=admin)
        end = NOON + timedelta(days=30)

        assert going(project, on=end - timedelta(seconds=1)) == []
        assert going(project, on=end) == [run]

    def test_nothing_is_due_where_nobody_said_anything(self, project: Project, admin: User) -> None:
        over(admin, on=NOON)

        assert going(project, on=NOON + timedelta(days=5_000)) == []

    def test_a_profiles_own_policy_stands_in_for_the_projects(self, project: Project, admin: User) -> None:
        short = over(admin, on=NOON, profile="hr")
        usual = over(admin, on=NOON)
        ever = over(admin, on=NOON, profile="law")
        keep(project, 30, by=admin)
        keep(project, 5, by=admin, profile="hr")
        keep(project, None, by=admin, profile="law")

        assert going(project, on=NOON + timedelta(days=6)) == [short]
        assert going(project, on=NOON + timedelta(days=60)) == [short, usual]
        assert ever not in going(project, on=NOON + timedelta(days=6_000))

    def test_runs_that_go_on_are_never_due(self, project: Project, admin: User) -> None:
        driving = Driving(make_run(by=admin, task=WORD))
        driving.plan(chain("One"), hold=True)
        make_run(by=admin, task="Queued since then")
        keep(project, 1, by=admin)

        assert going(project, on=NOON + timedelta(days=900)) == []

    def test_another_projects_runs_are_none_of_its_business(self, project: Project, admin: User, bob: User) -> None:
        over(bob, on=NOON)
        keep(project, 1, by=admin)

        assert going(project, on=NOON + timedelta(days=900)) == []

    def test_what_a_hold_keeps_is_counted_apart(self, project: Project, admin: User) -> None:
        kept, run = over(admin, on=NOON), over(admin, on=NOON)
        keep(project, 30, by=admin)
        place_hold(project=project, run=kept, reason="Case 4711", by=admin, now=NOON)

        seen = outlook(project, now=NOON + timedelta(days=31))

        assert [each.run for each in seen.going] == [run]
        assert (seen.count, seen.held_back) == (1, 1)

    def test_a_policy_is_tried_before_it_is_set(self, project: Project, admin: User) -> None:
        run = over(admin, on=NOON)
        keep(project, 300, by=admin)
        tried = with_rule(rules_of(project), Rule("", 10))

        seen = outlook(project, now=NOON + timedelta(days=11), rules=tried)

        assert [each.run for each in seen.going] == [run]
        assert seen.going[0].texts > 10
        assert going(project, on=NOON + timedelta(days=11)) == [], "nothing was set"

    def test_a_long_list_is_cut_and_counted(self, project: Project, admin: User) -> None:
        for _ in range(3):
            over(admin, on=NOON)
        keep(project, 1, by=admin)

        seen = outlook(project, now=NOON + timedelta(days=2), limit=2)

        assert (len(seen.going), seen.count, seen.more) == (2, 3, 1)


class TestApplying:
    def test_what_is_due_goes_and_says_by_which_policy(self, project: Project, admin: User) -> None:
        old, young = over(admin, on=NOON), over(admin, on=NOON + timedelta(days=20))
        keep(project, 30, by=admin)

        erased = list(apply_policies(now=NOON + timedelta(days=31)))

        assert erased == [old]
        told = log.read(old.trail)[-1]
        assert (told.verb, told.actor.kind) == ("run.erased", "system")
        assert {name: told.data[name] for name in ("why", "profile", "keep_days")} == {
            "why": "policy",
            "profile": "",
            "keep_days": 30,
        }
        assert Run.objects.get(pk=young.pk).task != ""
        assert list(apply_policies(now=NOON + timedelta(days=31))) == [], "twice does no harm"

    def test_a_younger_fork_keeps_its_copy_until_its_own_time(self, project: Project, admin: User) -> None:
        old = over(admin, on=NOON)
        fork = forked(old, by=admin, now=NOON + timedelta(days=20))
        Run.objects.filter(pk=fork.pk).update(status="cancelled", finished_at=NOON + timedelta(days=20))
        keep(project, 30, by=admin)

        list(apply_policies(now=NOON + timedelta(days=31)))
        assert WORD in Run.objects.get(pk=fork.pk).task
        list(apply_policies(now=NOON + timedelta(days=51)))

        assert where_is(WORD) == set()

    def test_one_that_cannot_be_erased_yet_holds_up_no_other(self, project: Project, admin: User) -> None:
        busy, run = over(admin, on=NOON), over(admin, on=NOON + timedelta(hours=1))
        busy.attempts.update(status="running")
        keep(project, 30, by=admin)

        assert list(apply_policies(now=NOON + timedelta(days=31))) == [run]

    def test_the_daily_task_applies_them(self, project: Project, admin: User) -> None:
        run = over(admin, on=timezone.now() - timedelta(days=31))
        keep(project, 30, by=admin)

        tasks.apply_retention()

        assert Run.objects.get(pk=run.pk).is_erased

    def test_the_daily_task_bears_a_redis_that_is_away(self, project: Project, admin: User, settings: Any) -> None:
        run = over(admin, on=timezone.now() - timedelta(days=31))
        keep(project, 30, by=admin)
        settings.REDIS_URL = "redis://127.0.0.1:9/0"

        tasks.apply_retention()

        assert not Run.objects.get(pk=run.pk).is_erased

    def test_beat_asks_for_it_once_a_day(self, settings: Any) -> None:
        entry = settings.CELERY_BEAT_SCHEDULE["apply-retention"]

        assert entry["task"] == tasks.apply_retention.name
        assert entry["schedule"] == 86_400


class TestTheCommand:
    def test_a_dry_run_says_what_would_go_and_changes_nothing(self, project: Project, admin: User) -> None:
        run = over(admin, on=timezone.now() - timedelta(days=31))
        keep(project, 30, by=admin)

        said = _call("--dry-run")

        assert run.code in said
        assert "kept for 30 days" in said
        assert "1 run would be erased." in said
        assert not Run.objects.get(pk=run.pk).is_erased

    def test_without_it_they_go(self, project: Project, admin: User) -> None:
        run = over(admin, on=timezone.now() - timedelta(days=31))
        keep(project, 30, by=admin)

        assert "1 run erased." in _call("--project", project.slug)

        told = log.read(run.trail)[-1]
        assert (told.verb, told.actor.id) == ("run.erased", "apply_retention")

    def test_as_json_a_line_is_a_run(self, project: Project, admin: User) -> None:
        run = over(admin, on=timezone.now() - timedelta(days=31))
        keep(project, 30, by=admin)

        [told] = [json.loads(line) for line in _call("--dry-run", "--json").splitlines()]

        assert (told["run"], told["policy"]) == (run.code, {"profile": "", "keep_days": 30})

    def test_a_project_that_is_not_there_is_named(self, admin: User) -> None:
        with pytest.raises(CommandError, match="no project nowhere"):
            _call("--project", "nowhere")


class TestSetting:
    def test_who_set_what_and_why_is_an_event(self, project: Project, admin: User) -> None:
        keep(project, 30, by=admin)
        policy = keep(project, 10, by=admin)
        keep(project, 10, by=admin)
        drop_policy(policy=policy, reason="No more", by=admin, now=NOON)

        told = log.read(f"retention:{project.slug}")
        assert [(event.verb, event.data.get("keep_days"), event.data.get("before_days")) for event in told] == [
            ("policy.set", 30, None),
            ("policy.set", 10, 30),
            ("policy.dropped", None, 10),
        ]
        assert told[0].texts == {"reason": WHY}

    @pytest.mark.parametrize("days", [0, -1, 36_501])
    def test_a_day_at_least_and_a_hundred_years_at_most(self, project: Project, admin: User, days: int) -> None:
        with pytest.raises(Invalid, match="from 1 to 36,500"):
            keep(project, days, by=admin)

    def test_a_profile_nobody_knows_is_refused(self, project: Project, admin: User) -> None:
        with pytest.raises(Invalid, match="no profile “nobody”"):
            keep(project, 30, by=admin, profile="nobody")

    def test_only_an_admin_of_the_project_sets_and_drops(self, ada: User, bob: User) -> None:
        assert ada.home_project is not None
        for somebody in (ada, bob):
            with pytest.raises(NotAllowed):
                keep(ada.home_project, 30, by=somebody)
        assert not Policy.objects.exists()

    def test_what_is_gone_is_not_dropped_twice(self, project: Project, admin: User) -> None:
        policy = keep(project, 30, by=admin)
        drop_policy(policy=policy, reason=WHY, by=admin, now=NOON)
        policy.pk = 1

        with pytest.raises(NoSuchPolicy):
            drop_policy(policy=policy, reason=WHY, by=admin, now=NOON)


def _call(*args: str) -> str:
    out = StringIO()
    call_command("apply_retention", *args, stdout=out)
    return out.getvalue()
