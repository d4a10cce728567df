"""Trying a worker: a real short call for those who answer for it, and now and then by itself."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import redis
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.audit import log as audit
from apps.core.errors import Invalid
from apps.runs import tasks, trying
from apps.runs.models import TRIAL, Attempt, Run
from apps.spend.models import Budget, Line
from apps.workers.models import Fallback, Profile, Worker
from apps.workers.scripts import RedisAway
from tests.factories import make_person, make_project
from tests.simulators import Simulator

Drive = Callable[[Run], Run]


def birch(**changes: Any) -> Worker:
    Worker.objects.filter(slug="sim-birch").update(**changes)
    return Worker.objects.get(slug="sim-birch")


def begin(by: User, **options: Any) -> Run:
    return trying.try_worker(worker=birch(), by=by, now=timezone.now(), **options)


def once() -> Callable[[str], bool]:
    seen: set[str] = set()

    def is_first(slug: str) -> bool:
        known = slug in seen
        seen.add(slug)
        return not known

    return is_first


# --- by somebody ---------------------------------------------------------------------------------------------------


def test_a_trial_is_a_run_of_one_call_that_is_paid_for_and_told_of(
    admin: User, pool: str, drive: Drive, simulator: Simulator
) -> None:
    run = drive(begin(admin))

    assert (run.status, run.profile, run.setup["test"]) == (Run.Status.SUCCEEDED, TRIAL, True)
    assert run.answer
    assert [row["model"].split(":")[0] for row in simulator.log()] == ["sim-birch"]
    assert Line.objects.get(run=run.code).cost_usd == run.cost_usd > 0
    first = audit.read(run.trail)[0]
    assert (first.verb, first.data["test"], first.actor.label) == ("run.submitted", True, admin.label)


def test_one_that_is_switched_off_can_be_tried_before_it_is_switched_on(admin: User, pool: str, drive: Drive) -> None:
    birch(enabled=False)

    assert drive(begin(admin)).status == Run.Status.SUCCEEDED


def test_it_is_tried_once_and_nobody_stands_in(
    admin: User, pool: str, drive: Drive, knobs: Callable[..., None]
) -> None:
    knobs("sim-birch", "fail=500")
    Fallback.objects.create(worker=birch(), instead=Worker.objects.get(slug="sim-cedar"))

    run = drive(begin(admin))

    assert run.status == Run.Status.FAILED
    assert [attempt.worker for attempt in run.attempts.all()] == ["sim-birch"]
    assert "simulated" in run.attempts.get().error


def test_a_price_that_is_unknown_does_not_keep_anybody_from_trying(admin: User, pool: str, drive: Drive) -> None:
    birch(output_price_usd=None)

    run = drive(begin(admin))

    assert (run.status, run.cost_unknown) == (Run.Status.SUCCEEDED, True)


def test_a_budget_holds_a_trial_like_any_run(admin: User, pool: str, drive: Drive) -> None:
    Budget.objects.create(name="None", limit_usd=Decimal(0))

    assert drive(begin(admin)).hold == Run.Hold.LIMIT


def test_pressed_twice_it_is_one_trial(admin: User, pool: str) -> None:
    assert begin(admin, submit_key="k").pk == begin(admin, submit_key="k").pk


def test_one_that_gives_vectors_is_not_asked_for_a_sentence(admin: User, pool: str) -> None:
    with pytest.raises(Invalid, match="turns texts into vectors"):
        trying.try_worker(worker=Worker.objects.get(slug="sim-embed"), by=admin, now=timezone.now())


def test_only_those_who_answer_for_it_may_try_a_worker(pool: str) -> None:
    own, other = make_project("own"), make_project("other")
    analyst, boss = make_person(project=own), make_person(project=own)
    Membership.objects.filter(user=boss).update(role=Membership.Role.ADMIN)

    assert not trying.may_try(worker=birch(), by=analyst)
    assert trying.may_try(worker=birch(), by=boss)
    assert trying.may_try(worker=birch(project=own), by=boss)
    assert not trying.may_try(worker=birch(project=other), by=boss)
    with pytest.raises(trying.NotYours):
        begin(boss)
    with pytest.raises(trying.NotYours):
        begin(analyst)
    assert not Run.objects.exists()


# --- trying again at once --------------------------------------------------------------------------------------------


def test_one_that_is_left_alone_is_called_again_once_somebody_says_so(
    admin: User, mini: Profile, drive: Drive, knobs: Callable[..., None], redis_url: str
) -> None:
    knobs("sim-birch", "fail=500")
    for _ in range(5):
        drive(begin(admin))
    knobs("sim-birch", "ttft=0")
    client = redis.Redis.from_url(redis_url)

    trying.forgive_worker(worker=birch(), client=client, by=admin, now=timezone.now())

    assert drive(begin(admin)).status == Run.Status.SUCCEEDED
    assert audit.read("pool")[-1].verb == "worker.forgiven"
    client.close()


def test_what_was_not_done_leaves_no_trail(admin: User, pool: str) -> None:
    away = redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=1)

    with pytest.raises(RedisAway):
        trying.forgive_worker(worker=birch(), client=away, by=admin, now=timezone.now())

    assert "worker.forgiven" not in [event.verb for event in audit.read("pool")]


# --- by itself -------------------------------------------------------------------------------------------------------


def probe(is_first: Callable[[str], bool] | None = None) -> list[Run]:
    return trying.probe_workers(now=timezone.now(), is_first=is_first or once())


def test_nobody_is_probed_who_did_not_ask_for_it(admin: User, pool: str) -> None:
    assert probe() == []


def test_a_silent_worker_is_probed_with_few_tokens_in_the_studios_name(
    admin: User, pool: str, drive: Drive, simulator: Simulator
) -> None:
    birch(probe=True)

    [run] = probe()
    drive(run)

    assert run.setup["pool"][0]["identity"]["params"] == {"max_tokens": 16}
    assert simulator.log()[-1]["model"].startswith("sim-birch")
    assert audit.read(run.trail)[0].actor.label == "the studio"
    assert run.attempts.get().output_tokens <= 16


@pytest.mark.parametrize(
    ("changes", "params"),
    [
        (
            {"params": {"max_completion_tokens": 4_000, "temperature": 0}},
            {"max_completion_tokens": 16, "temperature": 0},
        ),
        ({"reasoning_effort": "high"}, {"max_tokens": 512, "reasoning_effort": "high"}),
    ],
)
def test_the_limit_has_the_name_that_the_worker_knows_and_leaves_room_to_think(
    admin: User, pool: str, changes: dict[str, Any], params: dict[str, Any]
) -> None:
    birch(probe=True, **changes)

    assert probe()[0].setup["pool"][0]["identity"]["params"] == params


def test_a_worker_that_was_called_lately_is_left_in_peace(admin: User, pool: str, drive: Drive) -> None:
    run = drive(begin(admin))
    birch(probe=True)

    assert probe() == []
    Attempt.objects.filter(run=run).update(finished_at=timezone.now() - timedelta(hours=2))
    assert len(probe()) == 1


def test_one_that_is_being_tried_is_not_tried_beside_it(admin: User, pool: str) -> None:
    begin(admin)
    birch(probe=True)

    assert probe() == []


def test_one_that_is_switched_off_or_gives_vectors_is_not_probed(admin: User, pool: str) -> None:
    birch(probe=True, enabled=False)
    Worker.objects.filter(slug="sim-embed").update(probe=True)

    assert probe() == []


def test_without_an_admin_there_is_nobody_to_pay(pool: str) -> None:
    birch(probe=True)
    User.objects.update(is_superuser=False)

    assert probe() == []


def test_at_most_once_an_hour_however_it_came_out(admin: User, pool: str, redis_url: str) -> None:
    birch(probe=True)

    tasks.probe_workers()
    Run.objects.update(status=Run.Status.FAILED, finished_at=timezone.now())
    tasks.probe_workers()

    assert Run.objects.filter(profile=TRIAL).count() == 1
    client = redis.Redis.from_url(redis_url)
    assert 3_500 < int(client.ttl("studio:probed:sim-birch")) <= 3_600
    client.close()


def test_a_key_that_is_gone_is_told_as_it_is(admin: User, pool: str, drive: Drive) -> None:
    run = begin(admin)
    run.setup["pool"][0]["credential"] = 404
    run.save()

    failed = drive(run)

    assert failed.status == Run.Status.FAILED
    assert "key of Birch was deleted" in failed.error
