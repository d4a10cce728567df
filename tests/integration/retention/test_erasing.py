"""Erasing a run: what it said is nowhere any more, what it did stays, and its trail still holds."""

from datetime import timedelta
from decimal import Decimal

import pytest
import redis
from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs import drafts, experiments, plans, reuse, services, sharing, templates
from apps.runs.erased import RunErased
from apps.runs.filters import parse
from apps.runs.finding import find
from apps.runs.models import Attempt, LegalHold, Proposal, Run, SavedDraft, Share
from apps.runs.purse import embedding_ref
from apps.runs.retention.copies import copies_of
from apps.runs.retention.erasing import LiveTextAway, NotAtRest, PartOfAnother, erase_run
from apps.runs.retention.holds import OnHold, lift_hold, place_hold
from apps.workers import circuit
from apps.workers.calls import FailureKind
from apps.workers.scripts import line_of
from tests.factories import NOON, Driving, chain, failure, make_run
from tests.integration.retention.planted import (
    LATER,
    WORD,
    forked,
    keys_with,
    nested_run,
    planted_run,
    tried,
    where_is,
    written_live,
)

WHY = "The client asked for it."
NO_PLAN = f"no {WORD}" + " at all" * 50  # longer than what a circuit keeps of it


@pytest.fixture
def client(redis_url: str) -> "redis.Redis":
    return redis.Redis.from_url(redis_url)


class TestWhatGoes:
    def test_no_column_of_any_table_holds_a_word_of_it_any_more(self, admin: User) -> None:
        run = planted_run(admin)
        assert {
            "runs_run.task",
            "runs_run.title",
            "runs_run.workflow_body",
            "runs_run.answer",
            "runs_run.answer_detail",
            "runs_run.notice",
            "runs_step.instruction",
            "runs_step.result",
            "runs_attempt.sent",
            "runs_attempt.text",
            "runs_attempt.error",
            "runs_proposal.raw",
            "runs_proposal.repairs",
            "runs_proposal.problems",
            "runs_runwords.words",
            "runs_saveddraft.body",
            "audit_payload.text",
            "audit_eventwords.words",
        } == where_is(WORD), "it is planted wherever a run can hold it, and nowhere that cannot be erased"

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert where_is(WORD) == set()

    def test_no_key_of_redis_holds_a_word_of_it_any_more(self, admin: User, client: "redis.Redis") -> None:
        run = planted_run(admin)
        written_live(client, run)
        other = planted_run(admin)
        written_live(client, other)
        before = keys_with(client)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        left = keys_with(client)
        assert len(left) == len(before) / 2 > 0, "those of the other run are still there"

    def test_a_circuit_that_quotes_it_keeps_the_kind_of_failure_alone(self, admin: User, client: "redis.Redis") -> None:
        run = planted_run(admin)
        for slug in ("sim-birch", "sim-cedar"):
            why = circuit.worded("server", f"cannot weigh {WORD}")
            client.hset(f"{line_of(slug)}:trouble", mapping={"opened_at": 1, "reason": why})

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert client.hget(f"{line_of('sim-birch')}:trouble", "reason") == b"server"
        assert keys_with(client) == {f"{line_of('sim-cedar')}:trouble"}, "nobody was asked by this run"

    @pytest.mark.parametrize("kind", ["server", "timeout", "refused", "auth", "cut"])
    def test_so_do_those_of_a_conductor_and_an_embedding_worker(
        self, admin: User, client: "redis.Redis", kind: FailureKind
    ) -> None:
        run, doors = _failed_to_plan(admin, kind)
        for door in doors:
            client.hset(door, mapping={"opened_at": 1, "reason": circuit.worded(kind, NO_PLAN)})

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert [client.hget(door, "reason") for door in doors] == [kind.encode()] * 2
        assert where_is(WORD) == set()

    def test_what_it_could_be_guessed_by_goes_too(self, admin: User) -> None:
        run = planted_run(admin)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert set(run.attempts.values_list("digest", flat=True)) == {""}, "the digest of a request has no salt"

    def test_links_by_which_it_was_shared_open_nothing(self, admin: User) -> None:
        run = planted_run(admin)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert [share.state(now=LATER) for share in Share.objects.filter(run=run)] == ["revoked"]

    def test_another_run_keeps_every_word(self, admin: User) -> None:
        run, other = planted_run(admin), planted_run(admin)
        before = other.attempts.values_list("sent", "text", "digest")
        kept = list(before)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert list(before.all()) == kept
        assert SavedDraft.objects.filter(run=other).exists()
        assert log.read(other.trail)[0].texts["task"] == other.task


class TestWhatStays:
    def test_the_trail_still_holds_and_says_who_erased_it_and_why(self, admin: User) -> None:
        run = planted_run(admin)
        before = len(log.read(run.trail))

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        told = log.read(run.trail)
        verified = log.verify(run.trail)
        assert verified.first_break is None
        assert log.verify("spend").first_break is None, "what was raised for it was told of there"
        assert verified.events == before + 1
        assert told[-1].verb == "run.erased"
        assert told[-1].actor.label == admin.label
        assert told[-1].texts == {"reason": WHY}
        assert told[-1].data["why"] == "by hand"
        assert told[-1].data["texts"] > 10
        assert told[0].texts == {"task": None}, "an erased text is none"

    def test_the_frame_stays(self, admin: User) -> None:
        run = planted_run(admin)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        after = Run.objects.get(pk=run.pk)
        assert (after.status, after.cost_usd, after.input_tokens) == (run.status, run.cost_usd, run.input_tokens)
        assert after.title == "Erased 11 Apr 2026"
        assert after.workflow is not None
        assert [step.access for step in after.workflow.steps] == [(), ("s1",)]
        assert [step.status for step in after.steps.all()] == ["succeeded", "succeeded"]
        assert after.attempts.filter(status=Attempt.Status.FAILED, error_kind="server").count() == 1

    def test_it_is_still_found_by_its_code_and_by_no_word_of_its_own(self, admin: User) -> None:
        run = planted_run(admin)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        def found(text: str) -> list[Run]:
            return list(find(Run.objects.all(), parse(text), by=admin, now=LATER))

        assert found(WORD) == []
        assert found(run.code) == [run]
        assert found("is:erased") == [run]
        assert found("-is:erased") == []

    def test_a_template_that_was_made_from_it_stays(self, admin: User) -> None:
        run = planted_run(admin)
        assert run.workflow is not None
        template = templates.keep_template(
            name="Weighing", task="Compare {what}.", workflow=run.workflow, source=run, by=admin, now=NOON
        )

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        template.refresh_from_db()
        assert WORD in str(template.body)


class TestWhatIsRefused:
    def test_only_an_admin_of_its_project_erases(self, ada: User, bob: User) -> None:
        run = planted_run(ada)

        for somebody in (ada, bob):
            with pytest.raises(NotAllowed):
                erase_run(run=run, reason=WHY, by=somebody, now=LATER)
        assert WORD in Run.objects.get(pk=run.pk).task

    def test_no_reason_no_erasing(self, admin: User) -> None:
        run = planted_run(admin)

        with pytest.raises(Invalid, match="Say why"):
            erase_run(run=run, reason="  ", by=admin, now=LATER)

    def test_a_run_that_goes_on_is_left_alone(self, admin: User) -> None:
        driving = Driving(make_run(by=admin, task=WORD))
        driving.plan(chain("One"), hold=True)

        with pytest.raises(NotAtRest, match="once it has ended"):
            erase_run(run=driving.told(), reason=WHY, by=admin, now=LATER)

    def test_a_run_whose_driver_still_tidies_up_is_left_alone(self, admin: User) -> None:
        driving = Driving(make_run(by=admin, task=WORD))
        driving.plan(chain("One"))
        attempt = driving.start("s1")
        assert driving.at is not None
        services.stop_run(run=driving.told(), by=admin, now=driving.at)

        with pytest.raises(NotAtRest, match="tidying up"):
            erase_run(run=driving.told(), reason=WHY, by=admin, now=LATER)
        driving.desk.cut({attempt.stream: f"half a {WORD}"})
        with pytest.raises(NotAtRest, match="tidying up"):
            erase_run(run=driving.told(), reason=WHY, by=admin, now=driving.at)
        erase_run(run=driving.told(), reason=WHY, by=admin, now=LATER)

        assert where_is(WORD) == set()

    def test_a_reply_that_comes_after_all_brings_nothing_back(self, admin: User) -> None:
        driving = Driving(make_run(by=admin, task=WORD))
        driving.plan(chain("One"))
        attempt = driving.start("s1")
        assert driving.at is not None
        services.stop_run(run=driving.told(), by=admin, now=driving.at)
        driving.desk.cut({})
        erase_run(run=driving.told(), reason=WHY, by=admin, now=LATER)

        driving.late("s1", attempt, f"{WORD} after all")

        assert where_is(WORD) == set()

    def test_it_is_erased_once(self, admin: User) -> None:
        run = planted_run(admin)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        with pytest.raises(RunErased):
            erase_run(run=run, reason=WHY, by=admin, now=LATER)

    def test_nothing_is_erased_while_redis_does_not_answer(
        self, admin: User, settings: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = planted_run(admin)
        settings.REDIS_URL = "redis://127.0.0.1:9/0"  # type: ignore[attr-defined]  # pytest-django's wrapper

        with pytest.raises(LiveTextAway):
            erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert Run.objects.get(pk=run.pk) == run
        assert WORD in Run.objects.get(pk=run.pk).answer
        assert log.read(run.trail)[0].texts["task"] == run.task

    def test_the_database_takes_no_text_back(self, admin: User) -> None:
        run = planted_run(admin)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        with pytest.raises(IntegrityError, match="says_nothing"), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(task=WORD)


class TestLegalHolds:
    def test_a_hold_on_the_run_keeps_it(self, admin: User) -> None:
        run = planted_run(admin)
        hold = place_hold(project=run.project, run=run, reason="Case 4711", by=admin, now=NOON)

        with pytest.raises(OnHold, match=run.code):
            erase_run(run=run, reason=WHY, by=admin, now=LATER)
        lift_hold(hold=hold, reason="Settled", by=admin, now=LATER)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        verbs = [event.verb for event in log.read(run.trail)]
        assert verbs[-3:] == ["hold.placed", "hold.lifted", "run.erased"]

    def test_a_hold_on_the_project_keeps_all_of_it(self, admin: User) -> None:
        run = planted_run(admin)
        place_hold(project=run.project, reason="Case 4711", by=admin, now=NOON)

        with pytest.raises(OnHold, match="is on all of"):
            erase_run(run=run, reason=WHY, by=admin, now=LATER)

        [event] = log.read(f"retention:{run.project.slug}")
        assert (event.verb, event.texts) == ("hold.placed", {"reason": "Case 4711"})

    def test_a_hold_on_a_copy_keeps_all_that_would_go_with_it(self, admin: User) -> None:
        run = planted_run(admin)
        fork = forked(run, by=admin, now=NOON)
        _end(fork, admin)
        place_hold(project=run.project, run=fork, reason="Case 4711", by=admin, now=NOON)

        with pytest.raises(OnHold, match=fork.code):
            erase_run(run=run, reason=WHY, by=admin, now=LATER, with_copies=True)

        assert WORD in Run.objects.get(pk=run.pk).task, "all of it or nothing"

    def test_only_admins_place_and_lift(self, ada: User, bob: User) -> None:
        run = planted_run(ada)

        with pytest.raises(NotAllowed):
            place_hold(project=run.project, run=run, reason="Because", by=ada, now=NOON)
        with pytest.raises(NotAllowed):
            place_hold(project=run.project, reason="Because", by=bob, now=NOON)
        assert not LegalHold.objects.exists()


class TestCopies:
    def test_a_fork_keeps_what_it_has_taken_over(self, admin: User) -> None:
        run = planted_run(admin)
        fork = forked(run, by=admin, now=NOON)

        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        assert WORD in Run.objects.get(pk=fork.pk).task

    def test_with_its_copies_every_word_goes(self, admin: User) -> None:
        run = planted_run(admin)
        fork = forked(run, by=admin, now=NOON)
        driving = Driving(fork, at=NOON)
        driving.reuse("s1")
        driving.reuse("s2")
        driving.succeed(f"The **{WORD}** of South is more.", step="s2")
        grandchild = forked(driving.told(), by=admin, now=NOON)
        _end(grandchild, admin)

        erased = erase_run(run=grandchild, reason=WHY, by=admin, now=LATER, with_copies=True)

        assert [each.code for each in erased] == [grandchild.code, run.code, fork.code]
        assert where_is(WORD) == set()
        assert log.read(fork.trail)[-1].data["copy_of"] == grandchild.code
        assert all(log.verify(each.trail).first_break is None for each in erased)

    def test_plans_beside_it_hold_its_task(self, admin: User) -> None:
        driving = Driving(make_run(by=admin, task=f"Plan the {WORD}"))
        driving.plan(chain("One"))
        run = driving.carry({"s1": WORD})
        beside = plans.plan_again(run=run, times=2, by=admin, now=NOON)
        for each in beside:
            _end(each, admin)

        erased = erase_run(run=run, reason=WHY, by=admin, now=LATER, with_copies=True)

        assert erased == [run, *beside]
        assert where_is(WORD) == set()


class TestNested:
    def test_runs_within_it_go_with_it(self, admin: User) -> None:
        outer, nested = nested_run(admin)
        assert "runs_run.task" in where_is(WORD)

        erase_run(run=outer, reason=WHY, by=admin, now=LATER)

        assert where_is(WORD) == set()
        told = log.read(nested.trail)[-1]
        assert (told.verb, told.data["with"]) == ("run.erased", outer.code)
        assert log.verify(nested.trail).first_break is None

    def test_a_run_within_another_is_not_erased_alone(self, admin: User) -> None:
        outer, nested = nested_run(admin)

        with pytest.raises(PartOfAnother, match=outer.code):
            erase_run(run=nested, reason=WHY, by=admin, now=LATER)

    def test_a_fork_of_a_run_within_it_is_a_copy_of_it(self, admin: User) -> None:
        outer, nested = nested_run(admin)
        fork = forked(nested, by=admin, now=NOON)
        _end(fork, admin)
        assert list(copies_of(outer)) == [fork], "as its page names it"

        erased = erase_run(run=outer, reason=WHY, by=admin, now=LATER, with_copies=True)

        assert erased == [outer, fork]
        assert where_is(WORD) == set()

    def test_what_such_a_fork_was_made_from_goes_with_it_as_a_whole(self, admin: User) -> None:
        outer, nested = nested_run(admin)
        fork = forked(nested, by=admin, now=NOON)
        _end(fork, admin)

        erased = erase_run(run=fork, reason=WHY, by=admin, now=LATER, with_copies=True)

        assert erased == [fork, outer]
        assert where_is(WORD) == set()


class TestWhatCannotBeMadeOfIt:
    @pytest.fixture
    def run(self, admin: User) -> Run:
        run = planted_run(admin)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)
        return run

    def test_it_is_neither_forked_nor_planned_again(self, run: Run, admin: User) -> None:
        before = Run.objects.get(pk=run.pk)

        with pytest.raises(RunErased, match="were erased on 11 Apr 2026"):
            forked(before, by=admin, now=LATER)
        with pytest.raises(RunErased):
            plans.submit_again(run=before, by=admin, now=LATER)
        with pytest.raises(RunErased):
            plans.plan_again(run=before, times=2, by=admin, now=LATER)
        assert Run.objects.count() == 1

    def test_a_page_that_was_opened_before_forks_it_no_more(self, run: Run, admin: User) -> None:
        run.erased_at = None  # as the page has it

        with pytest.raises(RunErased):
            forked(run, by=admin, now=LATER)

    def test_a_page_that_was_opened_before_plans_and_tries_it_no_more(self, admin: User) -> None:
        run = planted_run(admin)
        workflow = run.workflow
        assert workflow is not None
        seen = [Run.objects.get(pk=run.pk) for _ in range(4)]
        erase_run(run=run, reason=WHY, by=admin, now=LATER)

        with pytest.raises(RunErased):
            plans.submit_again(run=seen[0], by=admin, now=LATER)
        with pytest.raises(RunErased):
            plans.plan_again(run=seen[1], times=2, by=admin, now=LATER)
        with pytest.raises(RunErased):
            tried(seen[2], by=admin, now=LATER)
        with pytest.raises(RunErased):
            templates.keep_template(name="x", task="x", workflow=workflow, source=seen[3], by=admin, now=LATER)
        assert where_is(WORD) == set()

    def test_no_plan_is_asked_for_beside_it_by_such_a_page(self, admin: User) -> None:
        run = planted_run(admin)
        beside = plans.plan_again(run=run, times=2, by=admin, now=NOON)[0]
        seen = Run.objects.select_related("beside").get(pk=beside.pk)
        erase_run(run=run, reason=WHY, by=admin, now=LATER)
        before = Run.objects.count()

        with pytest.raises(RunErased):
            plans.plan_again(run=seen, times=2, by=admin, now=LATER)
        with pytest.raises(RunErased):
            plans.submit_again(run=seen, beside=seen.beside, by=admin, now=LATER)
        assert Run.objects.count() == before

    def test_it_is_neither_shared_nor_tried_nor_kept_as_a_template(self, run: Run, admin: User) -> None:
        run = Run.objects.get(pk=run.pk)
        assert run.workflow is not None

        with pytest.raises(RunErased):
            sharing.share_run(run=run, by=admin, now=LATER)
        with pytest.raises(RunErased):
            experiments.check_can_be_tried(run)
        with pytest.raises(RunErased):
            templates.keep_template(name="x", task="x", workflow=run.workflow, source=run, by=admin, now=LATER)

    def test_a_draft_of_it_that_is_still_open_is_not_kept(self, run: Run, admin: User) -> None:
        with pytest.raises(RunErased):
            drafts.save_draft(run=run, body=WORD, hold=drafts.Hold(), by=admin, now=LATER)

        assert where_is(WORD) == set()

    def test_its_results_are_not_reused(self, admin: User) -> None:
        parent = planted_run(admin)
        fork = forked(parent, by=admin, now=NOON)
        assert reuse.recorded(fork, keys=["s1", "s2"])

        erase_run(run=parent, reason=WHY, by=admin, now=LATER)

        assert reuse.recorded(fork, keys=["s1", "s2"]) == {}


def _end(run: Run, by: User) -> None:
    """The run is stopped before anybody drove it."""
    services.stop_run(run=run, by=by, now=NOON + timedelta(minutes=5))


def _failed_to_plan(by: User, kind: FailureKind) -> tuple[Run, list[str]]:
    """A run whose conductor failed, and its embedding worker too, both in words of the task; and their circuits."""
    driving = Driving(make_run(by=by, task=WORD))
    conductor, embedder = driving.conductor, driving.run.setup["pool"][0]
    said = failure(NO_PLAN, kind=kind)
    failed = {"proposal": driving.ask(), "status": Proposal.Status.FAILED, "raw": "", "cost_usd": Decimal(0)}
    driving.write(driving.desk.finish_planning, conductor=conductor, failure=said, **failed)
    asked = {"ref": embedding_ref(driving.run, "c1"), "frozen": embedder}
    driving.desk.purse.look_up(embedder["slug"], at=NOON)
    driving.write(driving.desk.set_aside, messages=[{"content": WORD}], **asked)
    told = {"worker": embedder["slug"], "kind": kind}
    driving.write(driving.desk.embedding_failed, told=told, failure=said, cost_usd=Decimal(0), **asked)
    run = driving.give_up(NO_PLAN, code="planning")
    return run, [f"{line_of(each['slug'])}:trouble" for each in (conductor, embedder)]
