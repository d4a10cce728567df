"""Who may read whom, as a triangle: a row for each step, a column for each one before it, and what really passed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from django.db import connection
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from apps.runs.models import Attempt, Step
from apps.web.run.standing import Standing
from apps.web.words.figures import count, listed, plural, short_title
from apps.web.words.looks import Look, look_of

# What the last call of each step was really sent of what it may read; the texts stay in the database.
GIVEN = """
    SELECT reader.key, source.key, length(source.result),
        source.result !~ '\\S' AS empty,
        call.sent IS NOT NULL AS called,
        coalesce(strpos(call.sent -> 0 ->> 'content', source.result) > 0, false) AS given
    FROM runs_step AS reader
    CROSS JOIN LATERAL jsonb_array_elements_text(reader.access) AS reads (key)
    JOIN runs_step AS source ON source.run_id = reader.run_id AND source.key = reads.key
    LEFT JOIN LATERAL (
        SELECT sent FROM runs_attempt WHERE step_id = reader.id ORDER BY number DESC LIMIT 1
    ) AS call ON true
    WHERE reader.run_id = %(run)s AND source.status = ANY(%(done)s)
"""
CHARS_PER_TOKEN = 4
FORBIDDEN = mark_safe(' data-forbidden="true"')
IN_WORDS = {
    "given": "{tokens} passed",
    "may": "may read it, nothing has passed yet",
    "empty": "may read it, its result is empty (0 tokens) and was left out",
    "kept": "may read it, was not given it",
    "erased": "may read it, what passed was erased",
    "never": "may not read it",
}


@dataclass(frozen=True)
class Passed:
    """What is recorded of one edge: how long the result is, whether there was a call, and whether it was given it."""

    chars: int
    is_empty: bool
    was_called: bool
    is_given: bool

    @property
    def state(self) -> str:
        if not self.was_called:
            return "may"
        return "empty" if self.is_empty else "given" if self.is_given else "kept"


@dataclass(slots=True)
class Cell:
    """One step beside one before it. `state` is given, may (not yet), empty, kept (from it), erased or never."""

    row: int
    column: int
    source: str
    state: str
    tokens: int
    is_estimated: bool
    is_forbidden: bool = False

    @property
    def figure(self) -> str:
        """The tokens that passed, in at most four characters or so: `87`, `1.2k`, `13k`."""
        if self.state != "given":
            return {"empty": "0", "kept": "–"}.get(self.state, "")
        if self.tokens < 1000:
            return str(self.tokens)
        return f"{self.tokens / 1000:.1f}k" if self.tokens < 9950 else f"{self.tokens / 1000:.0f}k"

    @property
    def words(self) -> str:
        tokens = f"{'about ' if self.is_estimated else ''}{plural(self.tokens, 'token')}"
        said = f"Step {self.row}, of step {self.column}: {IN_WORDS[self.state].format(tokens=tokens)}"
        return f"{said}; what a flow rule holds the run for goes this way" if self.is_forbidden else said


@dataclass(frozen=True)
class Row:
    """One step, and what it has of each before it."""

    step: Step
    number: int
    title: str
    look: Look
    cells: Sequence[Cell]
    page_url: str
    rest: int  # columns that are not before it
    begins_round: int  # the round that it is the first of; 0 otherwise

    @property
    def drawn(self) -> SafeString:
        """Its cells as HTML. Of 150 steps there are eleven thousand, over which a template would sit for a second."""
        never = '<td data-cell="never" id="m{}-{}"></td>'
        return mark_safe(  # noqa: S308 - numbers of ours, and what format_html has escaped
            "".join(
                never.format(cell.row, cell.column) if cell.state == "never" else self._link(cell)
                for cell in self.cells
            )
        )

    def _link(self, cell: Cell) -> SafeString:
        edge = f"{cell.source}:{self.step.key}"
        return format_html(
            '<td data-cell="{}"{}><a href="{}?view=matrix&amp;edge={}" id="m{}-{}" data-edge="{}"'
            ' title="{}" aria-label="{}">{}</a></td>',
            cell.state,
            FORBIDDEN if cell.is_forbidden else "",
            self.page_url,
            quote(edge, safe=":"),
            cell.row,
            cell.column,
            edge,
            cell.words,
            cell.words,
            cell.figure,
        )

    @property
    def summary(self) -> str:
        """`reads 1 and 3`"""
        numbers = [cell.column for cell in self.cells if cell.state != "never"]
        return f"reads {listed(numbers)}" if numbers else "reads the task alone"


class Matrix:
    """The triangle of one run."""

    def __init__(self, standing: Standing) -> None:
        self.standing = standing
        self.run = standing.run
        self.steps = standing.steps

    @property
    def columns(self) -> list[Step]:
        """Every step that a later one could read."""
        return self.steps[:-1]

    @cached_property
    def rows(self) -> list[Row]:
        rounds = len({step.round for step in self.steps}) > 1 and not self.standing.is_in_turns
        firsts = {step.round: step.key for step in reversed(self.steps)} if rounds else {}
        looks = self.standing.looks
        return [
            Row(
                step=step,
                number=step.position + 1,
                title=short_title(step.instruction),
                look=looks.get(step.worker) or look_of(step.worker, None),
                cells=[self._cell(step, source) for source in self.steps[:at]],
                page_url=reverse("run", args=[self.run.code]),
                rest=len(self.columns) - at,
                begins_round=step.round if firsts.get(step.round) == step.key else 0,
            )
            for at, step in enumerate(self.steps)
        ]

    @property
    def summary(self) -> str:
        """`5 of 10 possible reads are allowed, 4 were given: 1,932 tokens`"""
        cells = [cell for row in self.rows for cell in row.cells]
        allowed = [cell for cell in cells if cell.state != "never"]
        given = [cell for cell in cells if cell.state == "given"]
        about = "about " if any(cell.is_estimated for cell in given) else ""
        tokens = f": {about}{plural(sum(cell.tokens for cell in given), 'token')}" if given else ""
        return (
            f"{count(len(allowed))} of {plural(len(cells), 'possible read')} allowed, {count(len(given))} given{tokens}"
        )

    @property
    def has_kept(self) -> bool:
        """Whether some step was not given what it may read."""
        return any(cell.state == "kept" for row in self.rows for cell in row.cells)

    def _cell(self, step: Step, source: Step) -> Cell:
        row, column = step.position + 1, source.position + 1
        if source.key not in step.access:
            return Cell(row, column, source.key, "never", 0, False)
        passed = self._passed.get((step.key, source.key))
        is_forbidden = (source.key, step.key) in self.standing.forbidden_edges
        if passed is None or self.run.is_erased:
            state = "erased" if passed is not None and passed.was_called else "may"
            return Cell(row, column, source.key, state, 0, False, is_forbidden)
        counted = self._counted.get(source.key)
        tokens = -(-passed.chars // CHARS_PER_TOKEN) if counted is None else counted
        return Cell(row, column, source.key, passed.state, tokens, counted is None, is_forbidden)

    @cached_property
    def _passed(self) -> Mapping[tuple[str, str], Passed]:
        """By reader and source, where the source has a result."""
        with connection.cursor() as cursor:
            cursor.execute(GIVEN, {"run": self.run.pk, "done": list(Step.DONE)})
            return {(reader, source): Passed(*found) for reader, source, *found in cursor.fetchall()}

    @cached_property
    def _counted(self) -> Mapping[str, int]:
        """The tokens of each result that a provider has counted."""
        done = (Attempt.Status.SUCCEEDED, Attempt.Status.REUSED)
        calls = self.run.attempts.filter(status__in=done, estimated=False).exclude(source__estimated=True)
        tokens = Coalesce("source__output_tokens", "output_tokens")
        thought = Coalesce("source__reasoning_tokens", "reasoning_tokens")
        return dict(calls.values_list("step__key", tokens - thought))
