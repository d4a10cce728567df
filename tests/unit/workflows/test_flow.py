"""What may flow where, held against a slow oracle that walks every path there is."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from apps.workflows import flow
from apps.workflows.flow import Asked, Model, Point, Rule
from apps.workflows.workflow import Last, Select, Step, Workflow

TAGS = ("secret", "internal", "trusted", "local")
SECRET = Rule("secret", "trusted")

some_tags = st.frozensets(st.sampled_from(TAGS))
models = st.builds(Model, st.sampled_from(("atlas", "birch", "cedar")), some_tags, some_tags)
rules = st.lists(st.builds(Rule, st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=4, unique=True)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    count = draw(st.integers(1, 6))
    steps, round = [], 1
    for at in range(count):
        round += draw(st.integers(0, 1)) if at else 0
        earlier = [f"s{number}" for number in range(1, at + 1)]
        access = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        steps.append(Step(key=f"s{at + 1}", instruction="Do it.", worker="w", access=tuple(access), round=round))
    over = draw(st.lists(st.sampled_from([step.key for step in steps]), min_size=1, unique=True))
    sink = draw(st.sampled_from([Last(), Select(over=tuple(over))]))
    return Workflow(steps=tuple(steps), sink=sink, show_task=draw(st.booleans()))


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    return Asked(
        task=draw(some_tags),
        files=tuple(draw(st.lists(some_tags, max_size=2))),
        is_told=draw(st.booleans()),
        wrote=tuple(accumulate(draw(st.lists(some_tags, max_size=3)), frozenset.union)),  # later rounds read more
        planner=draw(st.none() | models),
        embedder=draw(st.none() | models),
        judge=draw(st.none() | models),
    )


# --- the oracle: said of texts and readers in its own words, and every path walked ----------------------------------


def reads_in(workflow: Workflow, told: Asked) -> dict[str, set[str]]:
    """Who reads what, written down from the meaning of a run rather than from its points."""
    given = {"task:", *(f"file:{number + 1}" for number in range(len(told.files)))}
    reads: dict[str, set[str]] = {key: set() for key in given}
    reads["plan:1"] = set(given)
    if told.embedder:
        reads["embedded:"] = set(given)
    for at, step in enumerate(workflow.steps):
        before = workflow.steps[:at]
        reads[step.key] = set(step.access) | (given if workflow.show_task else set())
        if told.is_told:
            reads[step.key].add(f"plan:{step.round}")
            if step.round > 1:
                is_known = step.round <= len(told.wrote)  # from the run in which it was written
                shown = {each.key for each in before if each.round < step.round}
                reads[f"plan:{step.round}"] = given | (set() if is_known else shown)
    if isinstance(workflow.sink, Select) and told.judge:
        reads["sink:"] = set(workflow.sink.over)
    return reads


def own_tags(workflow: Workflow, told: Asked, given_to: Mapping[str, Model]) -> dict[str, frozenset[str]]:
    own = {"task:": told.task, **{f"file:{at + 1}": tags for at, tags in enumerate(told.files)}}
    own |= {step.key: given_to[step.key].adds for step in workflow.steps}
    itself = told.planner.adds if told.planner else frozenset()
    wrote = [*told.wrote, *(told.wrote[-1:] * 7)] or [frozenset()] * 7
    return own | {f"plan:{number}": itself | wrote[number - 1] for number in range(1, 8)}


def paths_to(key: str, reads: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Every path that ends at `key`, however long."""
    for source in reads[key]:
        yield (source, key)
        for longer in paths_to(source, reads):
            yield (*longer, key)


def asked_in(workflow: Workflow, told: Asked, given_to: Mapping[str, Model]) -> dict[str, Model | None]:
    plans = {f"plan:{number}": told.planner for number in range(1, 8)}
    return {**given_to, **plans, "sink:": told.judge, "embedded:": told.embedder}


@given(st.data())
def test_exactly_what_some_path_leads_to_is_forbidden_by_a_shortest_one_and_with_all_its_sources(data):
    workflow, told, in_force = data.draw(workflows()), data.draw(asked()), data.draw(rules)
    given_to = {step.key: data.draw(models) for step in workflow.steps}

    found = flow.offences(flow.points_of(workflow, given_to, told), in_force)

    reads, own = reads_in(workflow, told), own_tags(workflow, told, given_to)
    readers = asked_in(workflow, told, given_to)
    expected = {}
    for rule in in_force:
        for key in reads:
            model = readers.get(key)
            tainted = [path for path in paths_to(key, reads) if rule.carries in own.get(path[0], ())]
            if model is not None and tainted and rule.needs not in model.has:
                shortest = min(map(len, tainted))
                expected[rule, key] = (model.slug, shortest, tuple(sorted({path[0] for path in tainted})), tainted)
    assert {(each.rule, each.reader) for each in found} == set(expected)
    assert len(found) == len(expected)
    for each in found:
        slug, shortest, sources, tainted = expected[each.rule, each.reader]
        assert (each.model, len(each.path), each.sources) == (slug, shortest, sources)
        assert each.path in tainted


@given(st.data())
def test_a_text_carries_the_tags_of_all_that_any_path_leads_from(data):
    workflow, told = data.draw(workflows()), data.draw(asked())
    given_to = {step.key: data.draw(models) for step in workflow.steps}

    carried = flow.carried(flow.points_of(workflow, given_to, told))

    reads, own = reads_in(workflow, told), own_tags(workflow, told, given_to)
    for step in workflow.steps:
        origins = {step.key} | {path[0] for path in paths_to(step.key, reads)}
        assert carried[step.key] == frozenset().union(*(own.get(each, frozenset()) for each in origins))


@given(st.data())
def test_whatever_is_edited_an_instruction_that_is_taken_over_carries_all_that_it_did(data):
    workflow, told = data.draw(workflows()), data.draw(asked())
    given_to = {step.key: data.draw(models) for step in workflow.steps}
    before = flow.carried(flow.points_of(workflow, given_to, told))
    left = data.draw(st.permutations(workflow.steps).map(lambda steps: steps[: data.draw(st.integers(1, 6))]))
    others = {step.key: data.draw(models) for step in left}
    fork = Workflow(steps=tuple(step.model_copy(update={"access": ()}) for step in left), show_task=False)
    wrote = flow.written(workflow, given_to, told)

    after = flow.carried(flow.points_of(fork, others, replace(told, planner=None, wrote=wrote)))

    if told.is_told:
        for step in left:
            assert after[step.key] == before[f"plan:{step.round}"] | others[step.key].adds


@given(st.data())
def test_a_workflow_that_is_taken_over_twice_carries_what_it_did_the_first_time(data):
    workflow, told = data.draw(workflows()), data.draw(asked())
    given_to = {step.key: data.draw(models) for step in workflow.steps}
    once = flow.written(workflow, given_to, told)
    fork = workflow.model_copy(update={"steps": workflow.steps[:1]})

    assert flow.written(fork, {}, replace(told, planner=None, wrote=once)) == once


# --- single cases, for the reader ------------------------------------------------------------------------------------


def steps(*given: tuple[str, list[str]], **more: object) -> Workflow:
    made = tuple(Step(key=key, instruction="Do it.", worker="w", access=tuple(access)) for key, access in given)
    return Workflow(steps=made, **more)


def forbidden(workflow: Workflow, given_to: Mapping[str, Model], told: Asked, *in_force: Rule) -> list[tuple[str, ...]]:
    found = flow.offences(flow.points_of(workflow, given_to, told), in_force or (SECRET,))
    return [each.path for each in found]


TRUSTED, PLAIN = Model("atlas", has=frozenset({"trusted"})), Model("birch")
SECRET_TASK = Asked(task=frozenset({"secret"}), is_told=False)


def test_the_task_reaches_a_step_that_is_shown_nothing_but_what_another_made_of_it():
    chain = steps(("s1", []), ("s2", ["s1"]), show_task=False)
    shown = Asked(files=(frozenset({"secret"}),), is_told=True)

    assert forbidden(chain, {"s1": TRUSTED, "s2": PLAIN}, shown) == [("file:1", "plan:1", "s2")]
    assert forbidden(chain, {"s1": TRUSTED, "s2": PLAIN}, SECRET_TASK) == []


def test_what_a_worker_adds_is_carried_on_by_all_that_read_it_and_not_held_against_itself():
    chain = steps(("s1", []), ("s2", ["s1"]), ("s3", ["s2"]))
    inside = Model("cedar", adds=frozenset({"secret"}))

    found = forbidden(chain, {"s1": inside, "s2": TRUSTED, "s3": PLAIN}, Asked(is_told=False))

    assert found == [("s1", "s2", "s3")]


def test_whoever_compares_the_answers_reads_them():
    chosen = steps(("s1", []), ("s2", []), sink=Select(over=("s1", "s2")))
    told = Asked(task=frozenset({"secret"}), is_told=False, judge=PLAIN)

    assert forbidden(chosen, {"s1": TRUSTED, "s2": TRUSTED}, told) == [("task:", "s1", "sink:")]


def test_a_planner_that_plans_again_is_shown_every_result():
    once = steps(("s1", []))
    told = Asked(planner=PLAIN)
    points = flow.points_further(once, {"s1": Model("cedar", adds=frozenset({"secret"}))}, told)

    assert [each.path for each in flow.offences(points, [SECRET])] == [("s1", "plan:2")]


def test_an_instruction_carries_the_results_that_its_planner_had_read_where_the_step_that_gave_them_is_gone():
    planned = steps(("s1", []), ("s2", []))
    planned = planned.model_copy(update={"steps": (planned.steps[0], planned.steps[1].model_copy(update={"round": 2}))})
    told, inside = Asked(planner=TRUSTED), {"s1": Model("cedar", adds=frozenset({"secret"})), "s2": PLAIN}
    assert forbidden(planned, inside, told) == [("s1", "plan:2", "s2")]

    wrote = flow.written(planned, inside, told)
    alone = planned.model_copy(update={"steps": planned.steps[1:]})

    assert wrote == (frozenset(), frozenset({"secret"}))
    assert forbidden(alone, {"s2": PLAIN}, Asked(wrote=wrote)) == [("plan:2", "s2")]
    assert forbidden(planned, {"s1": PLAIN, "s2": PLAIN}, Asked(wrote=wrote)) == [("plan:2", "s2")]


def test_an_offence_is_named_by_all_that_was_approved_of_it():
    points = [Point("task:", tags=frozenset({"secret"})), Point("s1", ("task:",), PLAIN)]
    [offence] = flow.offences(points, [SECRET])
    [other] = flow.offences([*points[:1], Point("s1", ("task:",), Model("delta"))], [SECRET])

    assert offence.name == "secret>trusted s1 birch task:"
    assert other.name != offence.name


def test_a_step_that_is_called_as_the_planner_is_named_apart_from_it():
    points = [
        Point("task:", tags=frozenset({"secret"})),
        Point("plan:1", ("task:",), PLAIN),
        Point("plan", ("task:",), PLAIN),
    ]

    names = [each.name for each in flow.offences(points, [SECRET])]

    assert names == ["secret>trusted plan: birch task:", "secret>trusted plan birch task:"]


def test_what_goes_by_the_steps_of_a_workflow_is_told_from_what_comes_before_it():
    inside = Model("birch", adds=frozenset({"secret"}))
    chosen = steps(("s1", []), ("s2", []), sink=Select(over=("s1", "s2")))
    told = Asked(task=frozenset({"secret"}), planner=PLAIN, embedder=PLAIN, judge=PLAIN)
    points = flow.points_further(chosen, {"s1": inside, "s2": TRUSTED}, told)

    found = {each.reader: flow.is_of_steps(each.name) for each in flow.offences(points, [SECRET])}

    assert found == {"embedded:": False, "plan:1": False, "s1": True, "sink:": True, "plan:2": True}
