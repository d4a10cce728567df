"""Answers that are voted for or selected, by runs that really ask; and planners that another one stands in for."""

from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.runs.models import Proposal, Run
from apps.runs.services import submit_run
from apps.workers.models import Conductor, Profile
from apps.workflows.workflow import Select, Vote, Workflow
from tests.integration.runs.test_driving import Drive
from tests.pools import workflow

SUM = "Compute (1847 - 392) * 16 / 5. Answer with the number."

THREE = workflow(
    ("s1", "Compute it.", "sim-atlas", []),
    ("s2", "Compute it.", "sim-birch", []),
    ("s3", "Compute it.", "sim-atlas", []),
)


def submit(admin: User, profile: Profile, flow: Workflow | None = None) -> Run:
    return submit_run(task=SUM, profile=profile, by=admin, now=timezone.now(), workflow=flow)


def test_a_run_takes_the_answer_the_majority_gave(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini, THREE.model_copy(update={"sink": Vote(over=THREE.keys)})))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert "4656" in run.answer
    assert run.answer_rule == "vote"
    assert "4656" in run.answer_detail["counts"]
    ended = audit.read(run.trail)[-1]
    said = run.answer_detail["counts"]
    assert ended.data["detail"]["counts"] == {str(n): keys for n, keys in enumerate(said.values(), start=1)}
    assert [ended.texts[f"vote:{n}"] for n in range(1, len(said) + 1)] == list(said), "what was said is a text"


def test_a_run_takes_the_answer_nearest_to_the_others(admin: User, mini: Profile, drive: Drive) -> None:
    run = drive(submit(admin, mini, THREE.model_copy(update={"sink": Select(over=THREE.keys)})))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.answer_rule == "select"
    assert set(run.answer_detail["weights"]) == {"s1", "s2", "s3"}


def test_where_the_conductor_is_down_the_fallback_plans_and_the_run_says_so(
    admin: User, ultra: Profile, drive: Drive
) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,fail=500")
    ultra.fallback = "direct"
    ultra.tries = 1
    ultra.save()

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert run.planned_by == "direct"
    assert "“direct” stood in" in run.notice
    fell = next(event for event in audit.read(run.trail) if event.verb == "planning.fellback")
    assert (fell.data["from"], fell.data["to"]) == ("conductor", "direct")
    assert run.proposals.get().status == Proposal.Status.FAILED


def test_where_the_plans_stay_invalid_another_conductor_stands_in(admin: User, ultra: Profile, drive: Drive) -> None:
    good = Conductor.objects.get()
    bad = Conductor.objects.get()
    bad.pk, bad.slug, bad.model = None, "babbler", "sim-conductor:ttft=0,rate=0,say=nonsense"
    bad.save(force_insert=True)
    Conductor.objects.filter(pk=good.pk).update(model="sim-conductor:ttft=0,rate=0,seed=1")
    ultra.conductor, ultra.fallback, ultra.fallback_conductor = bad, "conductor", good
    ultra.save()

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.SUCCEEDED, run.error
    assert [p.conductor for p in run.proposals.all()] == ["babbler"] * 3 + ["sim-conductor"]
    assert run.notice


def test_without_a_fallback_the_run_fails_clearly(admin: User, ultra: Profile, drive: Drive) -> None:
    Conductor.objects.update(model="sim-conductor:ttft=0,rate=0,fail=500")
    ultra.tries = 1
    ultra.save()

    run = drive(submit(admin, ultra))

    assert run.status == Run.Status.FAILED
    assert "could not be asked" in run.error


def test_any_few_workers_of_the_pool_in_an_order_that_is_kept(admin: User, ultra: Profile, drive: Drive) -> None:
    ultra.pool_size = 2
    ultra.save()
    pools = {
        tuple(submit_run(task=SUM, profile=ultra, by=admin, now=timezone.now(), seed=seed).pool) for seed in range(12)
    }
    again = submit_run(task=SUM, profile=ultra, by=admin, now=timezone.now(), seed=3)

    assert all(len(pool) == 2 for pool in pools)
    assert len(pools) > 3, "others in every run, and in any order"
    assert tuple(again.pool) in pools
    run = drive(again)
    assert run.status == Run.Status.SUCCEEDED, run.error
    assert {step.worker for step in run.steps.all()} <= set(again.pool)


def test_workers_asked_for_by_name_are_numbered_as_they_were_named(admin: User, ultra: Profile) -> None:
    wanted = ["sim-delta", "sim-atlas"]
    run = submit_run(task=SUM, profile=ultra, by=admin, now=timezone.now(), workers=wanted)

    assert list(run.pool) == wanted
    submitted = audit.read(run.trail)[0]
    assert submitted.data["pool"] == wanted
