"""What workers were recorded to answer: read from JSON Lines, one row for each task and worker."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.core.errors import Invalid

FILE: Final = "scores.jsonl"
FEWEST_TASKS: Final = 10


class RecordsUnusable(Invalid):
    """A file of recorded results that cannot be learnt from; the message names file, line and what is wrong."""


@dataclass(frozen=True)
class Records:
    """Tasks (n) by workers (m): who solved what (`solved`, 0 to 1), at what cost in USD, and what each answered."""

    tasks: tuple[str, ...]
    workers: tuple[str, ...]
    solved: NDArray[np.float64]
    cost_usd: NDArray[np.float64]
    answers: tuple[tuple[str, ...], ...]

    def only(self, rows: Sequence[int]) -> "Records":
        """Some of the tasks."""
        return Records(
            tuple(self.tasks[row] for row in rows),
            self.workers,
            self.solved[list(rows)],
            self.cost_usd[list(rows)],
            tuple(self.answers[row] for row in rows),
        )


def read(paths: Iterable[Path]) -> Records:
    """The records of files, or of every `scores.jsonl` in a folder. Tasks that not all workers answered are left out.

    :raises RecordsUnusable:
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path in paths:
        for file in [path / FILE] if path.is_dir() else [path]:
            for row in _rows(file):
                found.setdefault(row["task"], {})[row["worker"]] = row
    workers = tuple(sorted({worker for rows in found.values() for worker in rows}))
    tasks = tuple(task for task, rows in found.items() if len(rows) == len(workers))
    if len(workers) < 2 or len(tasks) < FEWEST_TASKS:
        raise RecordsUnusable(
            f"There are {len(tasks)} tasks that all of {len(workers)} workers answered; "
            f"at least {FEWEST_TASKS} tasks and 2 workers are needed to learn from."
        )
    table = [[found[task][worker] for worker in workers] for task in tasks]
    return Records(
        tasks,
        workers,
        np.array([[float(row["correct"]) for row in rows] for rows in table]),
        np.array([[float(row.get("cost_usd") or 0) for row in rows] for rows in table]),
        tuple(tuple(str(row.get("answer", "")) for row in rows) for rows in table),
    )


def _rows(file: Path) -> Iterable[dict[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordsUnusable(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row(line, f"{file}, line {number}")


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise RecordsUnusable(f"{where}: this is no JSON ({error}).") from error
    sound = isinstance(row, dict) and isinstance(row.get("task"), str) and isinstance(row.get("worker"), str)
    if not sound or not isinstance(row.get("correct"), bool | int | float) or not 0 <= row["correct"] <= 1:
        raise RecordsUnusable(f"{where}: a row needs “task”, “worker” and “correct” (0 to 1).")
    return row
