"""Whatever is drawn, no call reaches an endpoint that a flow rule forbids: told from the simulator's own log.

The oracle knows nothing of points and paths: it asks, of each call that was made, what its step could have been made
from, and who really answered.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.runs.flow import Flow, answered_in
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.runs.services import fork_run, submit_run
from apps.workers.models import Conductor, Fallback, FlowRule, Profile, Tag, Worker
from apps.workflows.workflow import Step, Workflow
from tests.integration.runs.drawn import WORKERS, edited, workflows
from tests.simulators import Simulator

Drive = Callable[[Run], Run]
Pair = tuple[str, str]

TAGS = ("amber", "blue", "coral")
SOME = [frozenset(some) for some in (["amber"], ["blue"], ["amber", "blue"], ["blue", "coral"])]
TASK = "Weigh two kinds of tea against each other: green, black."
ASSIGNED = re.compile(r"<assigned-subtask-\w+>\nDescribe (s\d+)")


@dataclass(frozen=True)
class Drawn:
    flow: Workflow
    other: Workflow
    task: frozenset[str]
    workers: Mapping[str, frozenset[str]]
    rules: tuple[Pair, ...]
    failing: str  # a worker that does not answer, so that the next one stands in; empty: none
    planner: frozenset[str] | None = None  # the tags of the model that wrote the workflow; None: a person did


@st.composite
def drawings(draw: st.DrawFn) -> Drawn:
    tags = st.sampled_from([frozenset[str](), *SOME])  # few, so that rules are about what is there
    pair = st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS))
    planner = draw(st.none() | tags)
    flow = named(draw(workflows(st.just("new"), max_steps=5)))
    if planner is not None:
        flow = in_rounds(draw, flow)
    return Drawn(
        flow=flow,
        other=named(edited(draw, flow, st.just("new"))),
        task=draw(tags),
        workers={slug: draw(tags) for slug in WORKERS},
        rules=tuple(dict.fromkeys([("amber", "blue"), *draw(st.lists(pair, max_size=1))])),
        failing=draw(st.sampled_from(["", *WORKERS])),
        planner=planner,
    )


def named(flow: Workflow) -> Workflow:
    """The workflow, each step's instruction with its key in it."""
    steps = [step.model_copy(update={"instruction": f"Describe {step.key}"}) for step in flow.steps]
    return flow.model_copy(update={"steps": tuple(steps)})


def in_rounds(draw: Callable[[st.SearchStrategy[int]], int], flow: Workflow) -> Workflow:
    """The workflow as though it had been planned in rounds, each when all before it was done: so it reads that here."""
    steps, round = list[Step](), 1
    for step in flow.steps:
        round += draw(st.integers(0, 1)) if steps else 0
        before = [each.key for each in steps if each.round < round or each.key in step.access]
        steps.append(step.model_copy(update={"round": round, "access": tuple(before)}))
    return flow.model_copy(update={"steps": tuple(steps)})


def read_by(
    key: str,
    flow: Workflow,
    drawn: Drawn,
    answered: Mapping[str, str],
    said: Mapping[int, frozenset[str]] | None = None,
) -> frozenset[str]:
    """The tags of all that a step's model is shown: down every way, to the task and to whoever answered.

    `said` are those of the instructions of each round, where they were written in another run than this.
    """
    step = flow.step(key)
    shown = drawn.task if flow.show_task else frozenset[str]()
    shown |= written_for(step.round, flow, drawn, answered) if said is None else said[step.round]
    for source in step.access:
        shown |= carried_by(source, flow, drawn, answered, said)
    return shown


def carried_by(
    key: str,
    flow: Workflow,
    drawn: Drawn,
    answered: Mapping[str, str],
    said: Mapping[int, frozenset[str]] | None = None,
) -> frozenset[str]:
    return read_by(key, flow, drawn, answered, said) | drawn.workers[answered.get(key, flow.step(key).worker)]


def written_for(round: int, flow: Workflow, drawn: Drawn, answered: Mapping[str, str]) -> frozenset[str]:
    """The tags of all that whoever wrote the instructions of a round had read, and its own."""
    if drawn.planner is None:
        return frozenset()
    before = [step.key for step in flow.steps if step.round < round]
    return drawn.task.union(drawn.planner, *(carried_by(key, flow, drawn, answered) for key in before))


def is_forbidden(slug: str, shown: frozenset[str], drawn: Drawn) -> bool:
    return any(carries in shown and needs not in drawn.workers[slug] for carries, needs in drawn.rules)


def is_forbidden_from_the_start(flow: Workflow, drawn: Drawn) -> bool:
    return any(is_forbidden(step.worker, read_by(step.key, flow, drawn, {}), drawn) for step in flow.steps)


def arrange(drawn: Drawn) -> None:
    Tag.objects.all().delete()
    FlowRule.objects.all().delete()
    Fallback.objects.all().delete()
    now = timezone.now()
    Tag.objects.bulk_create(Tag(name=name, created_at=now) for name in TAGS)
    FlowRule.objects.bulk_create(FlowRule(carries=one, needs=other, created_at=now) for one, other in drawn.rules)
    for slug, tags in drawn.workers.items():
        knob = ",fail=400" if slug == drawn.failing else ""
        Worker.objects.filter(slug=slug).update(tags=sorted(tags), model=f"{slug}:ttft=0,rate=0{knob}")
    if drawn.failing:
        worker = Worker.objects.get(slug=drawn.failing)
        for at, slug in enumerate(slug for slug in WORKERS if slug != drawn.failing):
            Fallback.objects.create(worker=worker, instead=Worker.objects.get(slug=slug), position=at)


def answers(run: Run) -> dict[str, str]:
    return dict(run.attempts.filter(status__in=["succeeded", "reused"]).values_list("step__key", "worker"))


def check_calls(
    run: Run, flow: Workflow, drawn: Drawn, simulator: Simulator, said: Mapping[int, frozenset[str]] | None = None
) -> None:
    """No call of the log was forbidden, by what its step could read of who really answered."""
    answered = answers(run)
    for row in simulator.log():
        slug = row["model"].partition(":")[0]
        [key] = ASSIGNED.findall(row["messages"][0]["content"])[-1:]
        assert not is_forbidden(slug, read_by(key, flow, drawn, answered, said), drawn), (key, slug)


def submit(drawn: Drawn, admin: User, mini: Profile) -> Run:
    """A run of the drawn workflow; where a model is to have written it, as though its conductor had."""
    labels = Labels(tags=tuple(sorted(drawn.task)))
    run = submit_run(task=TASK, profile=mini, by=admin, now=timezone.now(), workflow=drawn.flow, labels=labels)
    if drawn.planner is not None:
        conductor = Conductor.objects.get(slug="sim-conductor")
        conductor.tags = sorted(drawn.planner)
        conductor.save()
        run.setup |= {"planner": "conductor", "conductor": conductor.freeze()}
        run.save()
    return run


def steps(*given: tuple[str, str, tuple[str, ...]]) -> Workflow:
    made = [Step(key=key, instruction=f"Describe {key}", worker=worker, access=access) for key, worker, access in given]
    return Workflow(steps=tuple(made))


RULE = ("amber", "blue")
NONE, AMBER, BLUE = (frozenset(some) for some in ([], ["amber"], ["blue"]))
ALONE = steps(("s1", "sim-atlas", ()))
PAIR = steps(("s1", "sim-atlas", ()), ("s2", "sim-cedar", ("s1",)))
# Whoever stands in first may not read the task; and whoever stands in adds what the next step may not read.
PASSED_OVER = Drawn(
    ALONE, ALONE, AMBER, {"sim-atlas": BLUE, "sim-birch": NONE, "sim-cedar": BLUE}, (RULE,), "sim-atlas"
)
ADDED = Drawn(PAIR, PAIR, NONE, {"sim-atlas": NONE, "sim-birch": AMBER, "sim-cedar": NONE}, (RULE,), "sim-atlas")
# A planner that had read what a tagged model said quotes it in the next round; and then that model's step is deleted.
LATER = Step(key="s2", instruction="Describe s2", worker="sim-cedar", round=2)
QUOTED = Drawn(
    Workflow(steps=(*ALONE.steps, LATER)),
    Workflow(steps=(LATER,)),
    NONE,
    {"sim-atlas": AMBER, "sim-birch": NONE, "sim-cedar": NONE},
    (RULE,),
    "",
    planner=NONE,
)


# Drawn before anything runs; but a database pool's threads, too, use the `random` that hypothesis watches.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=drawings())
@example(drawn=PASSED_OVER)
@example(drawn=ADDED)
@example(drawn=QUOTED)
def test_no_call_is_made_that_a_rule_forbids_and_none_is_kept_from_being_made_without_one(
    drawn: Drawn, admin: User, mini: Profile, drive: Drive, simulator: Simulator
) -> None:
    arrange(drawn)
    simulator.forget()

    run = drive(submit(drawn, admin, mini))

    check_calls(run, drawn.flow, drawn, simulator)
    is_held = run.status == Run.Status.HELD and run.hold == Run.Hold.RULES
    if is_forbidden_from_the_start(drawn.flow, drawn):
        assert is_held
        assert simulator.log() == [], "not even what no rule is about"
    elif not drawn.failing:
        assert run.status == Run.Status.SUCCEEDED, run.error
    if not drawn.failing and drawn.planner is None:  # a planner would have been held before
        assert bool(Flow.of(run).of_all(answered_in(run))) == is_held, "tried afterwards it is the same"
    assert is_held or run.is_ended

    simulator.forget()
    said = {step.round: written_for(step.round, drawn.flow, drawn, answers(run)) for step in drawn.flow.steps}
    fork = drive(fork_run(parent=run, workflow=drawn.other, by=admin, now=timezone.now()))
    check_calls(fork, drawn.other, drawn, simulator, said)
    assert fork.is_ended or fork.hold == Run.Hold.RULES
