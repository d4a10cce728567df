"""The planner that asks a conductor: reads its reply while it arrives, checks it, asks again where it is invalid."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from apps.conductor.examples import GENERAL, Example, examples_of
from apps.conductor.parse import DraftStep, StreamParser, parse
from apps.conductor.prompt import VERSION, prompt_of
from apps.conductor.prompt_schema import json_schema, response_format
from apps.conductor.proposal import Ask, Brief, Progress, Proposal, Watch, judge
from apps.conductor.rounds import judge_round, previous_round

from .asking import ask_until_valid, check_pool, names_of, of_call, reveals, seed, temperature, writes_json


class Conductor:
    """A conductor (arXiv 2512.04388), asked until its workflow is valid, and again in every later round.

    Options: `attempts` (3), `encoding` ("lists" or "json"), `reveal_names` (false), `examples` ("general" or "none"),
    `prompt_version` ("1"), `temperature` (else the endpoint's).
    """

    asks_conductor: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """The first valid proposal, or the last of the invalid ones.

        :raises apps.workers.calls.CallFailed: as `ask` raises it.
        """
        return await self._planned(brief, None, ask, watch)

    async def extend(self, brief: Brief, progress: Progress, *, ask: Ask, watch: Watch) -> Proposal | None:
        """The next of `brief.rounds` rounds: the workflow is "kept", or "changed" by further steps behind those it has.

        :raises apps.workers.calls.CallFailed: as `ask` raises it.
        """
        if progress.workflow.rounds >= brief.rounds:
            return None
        return await self._planned(brief, progress, ask, watch)

    async def _planned(self, brief: Brief, progress: Progress | None, ask: Ask, watch: Watch) -> Proposal:
        check_pool(brief)
        prompt, examples = prompt_of(_version(brief)), _examples(brief)
        names, encoding = names_of(brief), "json" if writes_json(brief) else "lists"
        previous = previous_round(progress, brief) if progress else None

        async def attempt(number: int, error: str | None) -> Proposal:
            messages = prompt(
                brief.task,
                brief.pool,
                brief.max_steps,
                reveal=reveals(brief),
                examples=examples,
                previous_error=error,
                encoding=encoding,
                previous=previous,
            )
            completion = await ask(
                messages,
                temperature=temperature(brief, number),
                extra=_extra(brief, number, progress),
                on_delta=_follow(StreamParser(names=names), watch, progress),
            )
            # Not what was heard: a call that was cut and made again has been heard twice.
            parsed = parse(completion.text, names=names)
            proposal = judge_round(parsed, brief, progress) if progress else judge(parsed, brief)
            return of_call(proposal, completion)

        return await ask_until_valid(brief, attempt, watch=watch)


def _follow(reading: StreamParser, watch: Watch, progress: Progress | None) -> Callable[[str], None]:
    """Tells of steps while they are written, at the positions they will have in the whole workflow."""
    before = len(progress.workflow.steps) if progress else 0

    def heard(delta: str) -> None:
        for step in reading.feed(delta):
            watch.drafted(_moved(step, before))

    return heard


def _moved(step: DraftStep, by: int) -> DraftStep:
    access = None if step.access is None else tuple(source + by for source in step.access)
    return replace(step, position=step.position + by, access=access)


def _extra(brief: Brief, attempt: int, progress: Progress | None) -> dict[str, Any]:
    extra: dict[str, Any] = {"seed": seed(brief, attempt, turn=progress.workflow.rounds if progress else 0)}
    if writes_json(brief):
        schema = json_schema(brief.pool, brief.max_steps, reveal=reveals(brief), later=progress is not None)
        extra["response_format"] = response_format("workflow", schema)
    return extra


def _version(brief: Brief) -> str:
    return str(brief.options.get("prompt_version") or VERSION)


def _examples(brief: Brief) -> Sequence[Example]:
    given = brief.options.get("examples", True)
    if isinstance(given, bool):
        given = GENERAL if given else "none"
    return examples_of(str(given or GENERAL))
