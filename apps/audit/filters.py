"""The language in which events are looked for: `verb:run.failed actor:ada after:7d "by mistake"`.

Pure: what can be asked of an event, and what has come of what a verb says. How it is written and read is the language
of all lists (`apps.core.filtering`).
"""

from collections.abc import Mapping

from apps.core.filtering import Field, Filter, Language, Match, one_of

ACTORS: dict[str, str] = {
    "person": "somebody who was signed in",
    "key": "a program with an API key",
    "driver": "a process that drives runs",
    "system": "the studio itself: a start, a sweep, a schedule",
}
OUTCOMES: dict[str, str] = {
    "failed": "it did not work, or broke",
    "stopped": "somebody, or a limit, ended it or held it up",
    "refused": "it was asked for and not allowed",
    "done": "all else: it happened",
}
ALSO = {
    "error": "failed",
    "broken": "failed",
    "held": "stopped",
    "denied": "refused",
    "ok": "done",
    "succeeded": "done",
}

# What has come of it, by the last word of its verb; of what is not here, that it was done.
OF_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("failed", "lost", "late", "takenover", "went-down", "given_up"), "failed"),
    **dict.fromkeys(("stopped", "held", "cut", "skipped", "withdrawn"), "stopped"),
    **dict.fromkeys(("rejected", "refused", "denied", "throttled"), "refused"),
}

FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        Field("actor", "text", "a part of who did it", "actor:ada"),
        Field("is", "text", "what kind of actor", "is:person"),
        Field("verb", "text", "a part of what was done", "verb:run.approved"),
        Field("object", "text", "how what it was done to begins", "object:person"),
        Field("run", "text", "how the code of its run begins", "run:k7f2"),
        Field("worker", "text", "a part of the worker's name", "worker:qwen"),
        Field("outcome", "text", "what came of it", "outcome:failed"),
        Field("project", "text", "the project, as its address names it", "project:default"),
        Field("after", "moment", "on that day or later", "after:7d"),
        Field("before", "moment", "earlier than that day", "before:2026-11-20"),
    )
}


def outcome_of(verb: str) -> str:
    """What came of it, as a verb such as `step.failed` says."""
    return OF_WORDS.get(verb.rpartition(".")[2], "done")


def _match(name: str, value: str) -> Match:
    if name == "is":
        return Match(name, one_of(ACTORS, value))
    if name == "outcome":
        return Match(name, one_of(OUTCOMES, value, also=ALSO))
    return Match(name, value)


LANGUAGE = Language(FIELDS, _match)


def parse(text: str) -> Filter:
    """The conditions that `text` asks for; whatever it is, nothing is raised."""
    return LANGUAGE.parse(text)


def render(asked: Filter) -> str:
    """The text that means what was understood: `parse` makes the same terms of it."""
    return LANGUAGE.render(asked)
