"""Vectors from an embedding worker: trained on, planned by, compared by; asked for, paid for and told of."""

from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log as audit
from apps.audit.log import Read
from apps.audit.models import Event
from apps.conductor.models import Learnt
from apps.runs.desk import Page
from apps.runs.embedding import Embedding, digest_of
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.process import Process
from apps.runs.retention.erasing import erase_run
from apps.runs.services import fork_run, submit_run
from apps.workers.calls import CallFailed, Endpoint, Usage
from apps.workers.embedding import Embeddings
from apps.workers.models import FlowRule, Profile, Worker
from apps.workers.places import Limits
from apps.workers.rules import add_tag
from apps.workflows.workflow import Select
from tests.factories import Driving
from tests.integration.runs.test_driving import Drive
from tests.integration.runs.test_learnt import SORT, SUM, scores, train
from tests.integration.runs.test_sinks import THREE
from tests.simulators import Simulator

__all__ = ["scores"]

TASK = SUM.format(1847)
NOBODY = "http://127.0.0.1:9/v1"


def submit(admin: User, profile: Profile, task: str = TASK) -> Run:
    return submit_run(task=task, profile=profile, by=admin, now=timezone.now())


def embeddings(run: Run) -> list[Read]:
    return [event for event in audit.read(run.trail) if event.verb.startswith("embedding.")]


def asked_of(simulator: Simulator) -> list[Any]:
    """What the embedding model was asked for, call after call."""
    return [row["input"] for row in simulator.log() if row["model"].startswith("sim-embed")]


def second_embedder(**fields: Any) -> Worker:
    other = Worker.objects.get(slug="sim-embed")
    other.pk, other.slug = None, "other-embed"
    for name, value in fields.items():
        setattr(other, name, value)
    other.save(force_insert=True)
    return other


class TestTraining:
    def test_takes_the_only_embedding_worker_and_says_so(
        self, ultra: Profile, scores: Path, simulator: Simulator
    ) -> None:
        said = train("routerdc", scores)

        learnt = Learnt.objects.get()
        tokens = sum(-(-len(text) // 4) for text in asked_of(simulator)[0])
        assert "by the vectors of sim-embed (simulated): 40 texts as 64 numbers each" in said
        assert f"each, {tokens} tokens for ${(Decimal('0.02') * tokens / 1_000_000).normalize():f}." in said
        assert [len(texts) for texts in asked_of(simulator)] == [40]
        assert (learnt.body["embedder"], learnt.body["dims"], len(learnt.body["map"])) == ("sim-embed", 64, 64)
        assert "texts" not in learnt.body
        assert learnt.trained_on["vectors"] == "sim-embed"

    @pytest.mark.parametrize("name", ["routerdc", "masrouter"])
    def test_finds_the_planted_rule_in_vectors(self, ultra: Profile, scores: Path, name: str) -> None:
        train(name, scores)

        held = Learnt.objects.get().trained_on["held_out"]
        assert held["planner"] >= held["chance"] + 0.5

    def test_asks_for_the_answers_where_it_is_them_that_are_compared(
        self, ultra: Profile, scores: Path, simulator: Simulator
    ) -> None:
        train("smoothie", scores)

        learnt = Learnt.objects.get()
        assert "20 it is" not in str(asked_of(simulator)[0])
        assert {"0 it is", "sim-atlas cannot tell"} <= {text for texts in asked_of(simulator) for text in texts}
        assert (learnt.trained_on["vectors"], set(learnt.body)) == ("sim-embed", {"workers", "weights"})

    def test_can_be_told_to_take_none(self, ultra: Profile, scores: Path, simulator: Simulator) -> None:
        said = train("routerdc", scores, "--embedder", "none")

        learnt = Learnt.objects.get()
        assert "by TF-IDF: as was wished" in said
        assert (asked_of(simulator), "embedder" in learnt.body, learnt.trained_on["vectors"]) == ([], False, "TF-IDF")

    def test_takes_none_where_there_is_none_or_nobody_said_which(self, ultra: Profile, scores: Path) -> None:
        other = second_embedder()

        assert "there are several embedding workers" in train("routerdc", scores)
        assert "the vectors of other-embed" in train("routerdc", scores, "--embedder", "other-embed")
        Worker.objects.filter(embeds=True).exclude(pk=other.pk).delete()
        other.enabled = False
        other.save()
        assert "there is no embedding worker" in train("routerdc", scores)

    def test_says_whom_there_is_to_choose_from(self, ultra: Profile, scores: Path) -> None:
        with pytest.raises(CommandError, match="“sim-atlas” is no enabled embedding worker; there are: sim-embed"):
            train("routerdc", scores, "--embedder", "sim-atlas")

    def test_names_the_worker_that_fails_and_keeps_nothing(self, ultra: Profile, scores: Path) -> None:
        Worker.objects.filter(embeds=True).update(model="sim-embed:fail=400")

        with pytest.raises(CommandError, match=r"“sim-embed” gave no vectors: Refused with 400.*--embedder none"):
            train("routerdc", scores)

        assert not Learnt.objects.exists()

    def test_tries_again_where_that_can_help(self, ultra: Profile, scores: Path, simulator: Simulator) -> None:
        Worker.objects.filter(embeds=True).update(model="sim-embed:ttft=0,rate=0,fail=503x1,retry_after=0")

        train("routerdc", scores)

        assert len(asked_of(simulator)) == 2


class TestPlanning:
    @pytest.mark.parametrize("name", ["routerdc", "masrouter"])
    def test_goes_by_the_tasks_vector_which_is_told_of_and_paid_for(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path, simulator: Simulator, name: str
    ) -> None:
        train(name, scores)
        simulator.forget()
        ultra.planner = name

        run = drive(submit(admin, ultra, SORT.format(77)))

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert {step.worker for step in run.steps.all()} == {"sim-cedar"}
        assert asked_of(simulator) == [[SORT.format(77)]]
        [event] = embeddings(run)
        assert event.verb == "embedding.done"
        about = {name: event.data[name] for name in ("worker", "what", "texts", "dims", "input_tokens", "estimated")}
        assert about == {
            "worker": "sim-embed",
            "what": "task",
            "texts": 1,
            "dims": 64,
            "input_tokens": 17,
            "estimated": False,
        }
        assert Decimal(event.data["cost_usd"]) == Decimal("0.00000034")
        attempts = list(run.attempts.all())
        assert run.input_tokens == 17 + sum(attempt.input_tokens for attempt in attempts)
        assert run.cost_usd == Decimal("0.00000034") + sum(attempt.cost_usd or 0 for attempt in attempts)

    def test_asks_the_worker_as_it_was_when_the_run_was_submitted(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path
    ) -> None:
        train("routerdc", scores)
        ultra.planner = "routerdc"
        run = submit(admin, ultra)
        Worker.objects.filter(embeds=True).update(model="something-else", base_url=NOBODY, enabled=False)

        run = drive(run)

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert run.setup["embedder"]["slug"] == "sim-embed"
        assert audit.read(run.trail)[0].data["embedder"] == "sim-embed"

    def test_tries_again_as_with_any_call(self, admin: User, ultra: Profile, drive: Drive, scores: Path) -> None:
        Worker.objects.filter(embeds=True).update(model="sim-embed:ttft=0,rate=0,fail=503x1,retry_after=0")
        train("routerdc", scores)
        ultra.planner = "routerdc"

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.SUCCEEDED, run.error
        failed, done = embeddings(run)
        assert (failed.verb, failed.data["kind"], failed.data["number"]) == ("embedding.failed", "server", 1)
        assert failed.texts["error"]
        assert (done.verb, done.data["number"]) == ("embedding.done", 2)

    def test_that_gets_no_vector_is_stood_in_for_and_says_so(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path
    ) -> None:
        train("routerdc", scores)
        Worker.objects.filter(embeds=True).update(base_url=NOBODY)
        ultra.planner, ultra.fallback, ultra.tries = "routerdc", "direct", 1

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert run.planned_by == "direct"
        assert "“sim-embed” could not be asked: cannot connect" in run.notice
        assert "“direct” stood in" in run.notice
        assert [event.verb for event in embeddings(run)] == ["embedding.failed"]

    def test_by_a_planner_that_stands_in_goes_by_what_that_one_learnt(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path
    ) -> None:
        train("masrouter", scores)
        ultra.planner, ultra.fallback = "routerdc", "masrouter"
        run = submit(admin, ultra)
        Worker.objects.filter(embeds=True).update(base_url=NOBODY)

        run = drive(run)

        assert (run.status, run.planned_by) == (Run.Status.SUCCEEDED, "masrouter"), run.error
        assert "RouterDC has not been trained yet" in run.notice
        assert [event.verb for event in embeddings(run)] == ["embedding.done"]

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"enabled": False}, "“sim-embed”, which was not there"),
            ({"embeds": False}, "“sim-embed”, which was not there"),
            ({"model": "sim-embed:seed=2"}, "another model (sim-embed:ttft=0,rate=0)"),
            ({"base_url": NOBODY}, "could not be asked"),
        ],
    )
    def test_without_anybody_to_stand_in_fails_clearly(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path, change: dict[str, Any], why: str
    ) -> None:
        train("routerdc", scores)
        Worker.objects.filter(embeds=True).update(**change)
        ultra.planner, ultra.tries = "routerdc", 1

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.FAILED
        assert why in run.error
        assert "train_planner" in run.error

    def test_with_what_was_learnt_deleted_fails_clearly(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path
    ) -> None:
        train("routerdc", scores)
        ultra.planner = "routerdc"
        run = submit(admin, ultra)
        Learnt.objects.all().delete()

        run = drive(run)

        assert run.status == Run.Status.FAILED
        assert "was deleted" in run.error

    def test_learnt_without_vectors_asks_for_none(
        self, admin: User, ultra: Profile, drive: Drive, scores: Path
    ) -> None:
        train("routerdc", scores, "--embedder", "none")
        ultra.planner = "routerdc"

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert (run.setup["embedder"], embeddings(run)) == (None, [])


class TestComparing:
    def test_answers_are_compared_by_the_only_embedding_workers_vectors(
        self, admin: User, ultra: Profile, drive: Drive, simulator: Simulator
    ) -> None:
        ultra.planner = "smoothie"

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert run.answer_detail["vectors"] == "sim-embed"
        assert set(run.answer_detail["weights"]) == {"s1", "s2", "s3", "s4"}
        [event] = embeddings(run)
        assert (event.data["what"], event.data["texts"]) == ("answers", 4)
        assert asked_of(simulator) == [[step.result for step in run.steps.all()]]
        assert audit.read(run.trail)[-1].data["detail"] == run.answer_detail

    def test_a_fork_compares_them_as_its_parent_did(self, admin: User, ultra: Profile, drive: Drive) -> None:
        ultra.planner = "smoothie"
        parent = drive(submit(admin, ultra))
        assert parent.workflow is not None

        fork = drive(fork_run(parent=parent, workflow=parent.workflow, by=admin, now=timezone.now()))

        assert (fork.answer, fork.answer_detail) == (parent.answer, parent.answer_detail)

    def test_which_worker_can_be_chosen_and_none_too(self, admin: User, ultra: Profile, drive: Drive) -> None:
        second_embedder()
        ultra.planner = "smoothie"

        nobody_said = drive(submit(admin, ultra))
        ultra.options = {"embedder": "other-embed"}
        other = drive(submit(admin, ultra))
        ultra.options = {"embedder": "none"}
        none = drive(submit(admin, ultra))

        told = [run.answer_detail["vectors"] for run in (nobody_said, other, none)]
        assert told == ["TF-IDF", "other-embed", "TF-IDF"]
        assert embeddings(nobody_said) == embeddings(none) == []

    def test_where_it_fails_they_are_compared_by_their_words_and_the_run_says_so(
        self, admin: User, ultra: Profile, drive: Drive
    ) -> None:
        Worker.objects.filter(embeds=True).update(model="sim-embed:fail=500")
        ultra.planner, ultra.tries = "smoothie", 1

        run = drive(submit(admin, ultra))

        assert run.status == Run.Status.SUCCEEDED, run.error
        assert run.answer_detail["vectors"] == "TF-IDF"
        assert "compared by their words" in run.notice
        assert [event.verb for event in embeddings(run)] == ["embedding.failed"]

    def test_a_run_without_an_embedding_worker_compares_by_words(
        self, admin: User, mini: Profile, drive: Drive
    ) -> None:
        selecting = THREE.model_copy(update={"sink": Select(over=THREE.keys)})

        run = drive(submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=selecting))

        assert run.answer_detail["vectors"] == "TF-IDF"


def test_the_digest_of_vectors_goes_with_what_they_are_of(admin: User, ultra: Profile, drive: Drive) -> None:
    ultra.planner = "smoothie"
    run = drive(submit(admin, ultra))
    [event] = embeddings(run)
    digest = event.texts["digest"]
    assert digest is not None
    assert "digest" not in event.data, "data is sealed for ever"

    erase_run(run=run, reason="They asked for it.", by=admin, now=timezone.now() + timedelta(days=1))

    [event] = embeddings(run)
    assert event.texts == {"digest": None}, "whoever guesses the answers could tell by it"
    sealed = Event.objects.filter(trail__name=run.trail)
    assert sealed.exists()
    assert not sealed.filter(line__contains=digest).exists()


class RuledMeanwhile:
    """Vectors whose first call fails, while the driver's next beat learns that there is a rule."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.asked = 0

    async def embed(self, endpoint: Endpoint, texts: Sequence[str]) -> Embeddings:
        self.asked += 1
        self.process.has_rules = True
        raise CallFailed("server", "come back later", retryable=True, retry_after_s=0)


@pytest.mark.parametrize(("planner", "reader"), [("routerdc", "embedded:"), ("smoothie", "sink:")])
def test_a_rule_that_is_made_while_it_is_tried_again_holds_the_next_try(
    admin: User,
    ultra: Profile,
    drive: Drive,
    process: Process,
    scores: Path,
    monkeypatch: pytest.MonkeyPatch,
    planner: str,
    reader: str,
) -> None:
    train("routerdc", scores)
    assert admin.home_project is not None
    for name in ("secret", "trusted"):
        add_tag(project=admin.home_project, name=name, by=admin, now=timezone.now())
    FlowRule.objects.create(carries="secret", needs="trusted", created_at=timezone.now())
    process.has_rules = False
    meanwhile = RuledMeanwhile(process)
    monkeypatch.setattr(process.gateway, "embed", meanwhile.embed)
    ultra.planner = planner
    secret = Labels(tags=("secret",))

    run = drive(submit_run(task=TASK, profile=ultra, by=admin, now=timezone.now(), labels=secret))

    assert (run.status, run.hold) == (Run.Status.HELD, Run.Hold.RULES), run.error
    assert reader in {each["reader"] for each in run.held_by["rules"]}
    assert meanwhile.asked == 1
    assert [event.verb for event in embeddings(run)] == ["embedding.failed"]


class FakeGateway:
    async def embed(self, endpoint: Endpoint, texts: Sequence[str]) -> Embeddings:
        return Embeddings(((1.0,),), Usage(9), Decimal("0.5"), duration_ms=12.0, model=endpoint.model)


class FreePlace:
    tokens_used: int | None = None

    async def heard(self, failure: CallFailed | None) -> None: ...

    async def leave(self) -> None: ...


class OpenDoor:
    async def enter(self, slug: str, limits: Limits, **_: Any) -> FreePlace:
        return FreePlace()


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """The outcome of a coroutine that waits for nobody, without a loop around it."""
    with pytest.raises(StopIteration) as end:
        work.send(None)
    return end.value.value


def test_a_bill_that_is_written_twice_is_paid_once(admin: User, ultra: Profile) -> None:
    driving = Driving(submit(admin, ultra))

    async def write_twice(job: Callable[[Page], Any]) -> None:
        """As a driver does when the database goes away between a commit and its answer."""
        driving.write(job)
        driving.write(job)

    async def do(job: Callable[[], Any]) -> Any:
        return job()

    process: Any = SimpleNamespace(gateway=FakeGateway(), turnstile=OpenDoor(), limits={})
    notes: Any = SimpleNamespace(write=write_twice, do=do)
    frozen = Worker.objects.get(slug="sim-embed").freeze()
    asking = Embedding(driving.run, driving.desk, process, notes)

    async def check() -> None:
        """No rule is in force."""

    assert finished(asking.vectors([TASK], frozen=frozen, what="task", check=check)) == ((1.0,),)

    run = driving.told()
    assert (run.input_tokens, run.cost_usd) == (9, Decimal("0.5"))
    [event] = embeddings(run)
    assert event.texts == {"digest": digest_of([(1.0,)])}


def test_vectors_are_named_by_their_numbers() -> None:
    assert digest_of([(1.0, 2.0)]) == digest_of([(1.0, 2.0)]) != digest_of([(2.0, 1.0)])
