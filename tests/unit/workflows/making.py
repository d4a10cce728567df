"""Workflows for tests, written in one line, and strategies that make arbitrary ones."""

from hypothesis import strategies as st

from apps.workflows.workflow import Step, Workflow

WORKERS = ("atlas", "birch", "cedar")


def workflow(**access: str) -> Workflow:
    """`workflow(s1="", s2="s1")`: keys in order, each with what it reads, by spaces."""
    return Workflow(
        steps=tuple(
            Step(key=key, instruction=f"do {key}", worker="atlas", access=tuple(sources.split()))
            for key, sources in access.items()
        )
    )


@st.composite
def sound_workflows(draw: st.DrawFn, max_steps: int = 6) -> Workflow:
    """Workflows in which every read is of an earlier step, in order."""
    keys = draw(st.lists(st.sampled_from(["s1", "s2", "s3", "s4", "s9", "a", "b-2"]), max_size=max_steps, unique=True))
    steps = []
    for position, key in enumerate(keys):
        reads = draw(st.sets(st.sampled_from(keys[:position]))) if position else set()
        access = tuple(earlier for earlier in keys[:position] if earlier in reads)
        instruction = draw(st.text(min_size=1, max_size=8))
        steps.append(Step(key=key, instruction=instruction, worker=draw(st.sampled_from(WORKERS)), access=access))
    return Workflow(steps=tuple(steps))


@st.composite
def any_workflows(draw: st.DrawFn) -> Workflow:
    """Workflows that may break every rule."""
    names = st.sampled_from(["s1", "s2", "s3", "s4", "ghost"])
    step = st.builds(
        Step,
        key=names,
        instruction=st.sampled_from(["", "do it"]),
        worker=st.sampled_from(["", *WORKERS]),
        access=st.lists(names, max_size=4).map(tuple),
    )
    return Workflow(steps=tuple(draw(st.lists(step, max_size=5))))
