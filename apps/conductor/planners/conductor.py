"""The planner that asks a conductor: reads its reply while it arrives, checks it, asks again where it is invalid."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from apps.conductor.examples import EXAMPLES, Example
from apps.conductor.parse import StreamParser, parse
from apps.conductor.prompt import Encoding, conductor_messages, response_format, worker_labels
from apps.conductor.proposal import Ask, Brief, Proposal, Watch, judge
from apps.core.errors import Invalid
from apps.workers.calls import Completion

ATTEMPTS: Final = 3
RETRY_TEMPERATURE: Final = 0.1
"""At least this when asking again: at 0 a model would repeat itself (arXiv 2512.04388)."""
SEEDS: Final = 2**31
LONGEST_ERROR: Final = 2_000


class Conductor:
    """A conductor, asked up to `options["attempts"]` times until its workflow is valid.

    Further options: `encoding` ("lists" or "json"), `reveal_names`, `examples` (False, or others than the usual four),
    `temperature`.
    """

    async def plan(self, brief: Brief, *, ask: Ask, watch: Watch) -> Proposal:
        """The first valid proposal, or the last of the invalid ones.

        :raises apps.workers.calls.CallFailed: as `ask` raises it.
        """
        if not brief.pool:
            raise Invalid("There is no worker in the pool. Choose at least one.", field="pool")
        proposal = Proposal()
        for attempt in range(max(1, int(brief.options.get("attempts") or ATTEMPTS))):
            proposal = await self._attempt(brief, attempt, proposal.error[:LONGEST_ERROR] or None, ask, watch)
            await watch.attempted(proposal)
            if proposal.is_valid:
                break
        return proposal

    async def _attempt(self, brief: Brief, attempt: int, error: str | None, ask: Ask, watch: Watch) -> Proposal:
        names = _names(brief)
        reading = StreamParser(names=names)

        def heard(delta: str) -> None:
            for step in reading.feed(delta):
                watch.drafted(step)

        completion = await ask(
            _messages(brief, error),
            temperature=_temperature(brief.options, attempt),
            extra=_extra(brief, attempt),
            on_delta=heard,
        )
        # Not what was heard: a call that was cut and made again has been heard twice.
        return _proposal(completion, brief, names)


def _proposal(completion: Completion, brief: Brief, names: Mapping[str, int]) -> Proposal:
    proposal = judge(parse(completion.text, names=names), brief)
    if not proposal.is_valid and completion.finish_reason == "length":
        cut = "The reply was cut off by the limit on its length: think and write more briefly."
        proposal = replace(proposal, problems=(*proposal.problems, cut))
    return replace(
        proposal,
        raw=completion.text,
        usage=completion.usage,
        cost_usd=completion.cost_usd,
        duration_ms=completion.duration_ms,
        ttft_ms=completion.ttft_ms,
    )


def _messages(brief: Brief, error: str | None) -> list[dict[str, str]]:
    return conductor_messages(
        brief.task,
        brief.pool,
        brief.max_steps,
        reveal=_reveals(brief),
        examples=_examples(brief.options),
        previous_error=error,
        encoding=_encoding(brief.options),
    )


def _extra(brief: Brief, attempt: int) -> dict[str, Any]:
    extra: dict[str, Any] = {"seed": (brief.seed + attempt) % SEEDS}
    if _encoding(brief.options) == "json":
        extra["response_format"] = response_format(brief.pool, brief.max_steps, reveal=_reveals(brief))
    return extra


def _names(brief: Brief) -> dict[str, int]:
    """What workers may be called beside their numbers; where two share a name, a slug and then the first counts."""
    numbered = list(enumerate(brief.pool))[::-1]
    names = {entry.name.casefold(): n for n, entry in numbered} | {entry.slug.casefold(): n for n, entry in numbered}
    if _encoding(brief.options) == "json":
        labels = worker_labels(brief.pool, reveal=_reveals(brief))  # what the schema asks for is no repair
        names |= {label.casefold(): n for n, label in enumerate(labels)}
    return names


def _temperature(options: Mapping[str, Any], attempt: int) -> float | None:
    """As the options or the conductor's own parameters say, else as its endpoint likes; on a retry not too low."""
    given = options.get("temperature", (options.get("params") or {}).get("temperature"))
    chosen = None if given is None else float(given)
    return chosen if attempt == 0 else max(RETRY_TEMPERATURE, chosen or 0.0)


def _encoding(options: Mapping[str, Any]) -> Encoding:
    return "json" if options.get("encoding") == "json" else "lists"


def _reveals(brief: Brief) -> bool:
    return bool(brief.options.get("reveal_names", brief.options.get("reveal", False)))


def _examples(options: Mapping[str, Any]) -> Sequence[Example]:
    given = options.get("examples", True)
    if isinstance(given, bool):
        return EXAMPLES if given else ()
    return tuple(given)
