"""`manage.py rehearse`: generated tasks through every planner in the real engine, on simulated workers."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.accounts.services import ensure_first_person
from apps.core.errors import StudioError
from apps.evals import report
from apps.evals.contest import Group, hold
from apps.evals.entrants import ALL, Entrant, entrants
from apps.evals.generators import MIXED, SETS, Task, generate
from apps.evals.outcomes import OUTCOMES, SCORES, Outcome, scores, write_lines
from apps.evals.rehearsal import Pool, Rehearsal, Rehearsed, check_redis, find_pool
from apps.evals.report import Setting
from apps.evals.simulated import simulated_models


class Command(BaseCommand):
    help = (
        "Run generated tasks with known answers through every planner, on simulated workers, and say who is better: "
        "a table here, a report with pictures and all results in a folder."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--set", choices=SETS, default=MIXED, help="the kind of tasks; mixed: some of each")
        parser.add_argument("--n", type=_count, default=200, help="so many tasks (200)")
        parser.add_argument("--planners", type=_names, default=(ALL,), help="names with commas between, or all")
        parser.add_argument("--workers", type=_names, default=(), help="simulated workers; left out: all of them")
        parser.add_argument("--seed", type=int, default=1, help="another seed makes other tasks (1)")
        parser.add_argument("--samples", type=_count, default=9, help="attempts of each worker's self-consistency (9)")
        parser.add_argument("--jobs", type=_count, default=16, help="runs at once (16)")
        parser.add_argument("--speed", type=_speed, default=10.0, help="times the models' pace (10); 0: no delays")
        parser.add_argument("--out", type=Path, help="the folder for report and results; left out: in the data folder")

    def handle(self, *args: Any, **options: Any) -> None:
        began = timezone.now()
        out: Path = options["out"] or settings.DATA_DIR / "rehearsals" / f"{began:%Y-%m-%d-%H%M%S}"
        try:
            pool = find_pool(options["workers"])
            tasks = generate(options["set"], options["n"], options["seed"])
            taking_part = entrants(options["planners"], workers=pool.workers, samples=options["samples"])
            check_redis()
            with simulated_models(pool.base_url) as was_started:
                if was_started:
                    self.stderr.write("No simulator was running: one was started for this command.")
                rehearsed = self._carry_out(pool, tasks, taking_part, options)
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        absent = [each.entrant for each in rehearsed.left_out]
        setting = Setting(
            set_name=options["set"],
            n=options["n"],
            seed=options["seed"],
            planners=tuple(options["planners"]),
            workers=pool.workers,
            samples=options["samples"],
            jobs=options["jobs"],
            speed=options["speed"],
            at=began,
            wall_s=rehearsed.wall_s,
            left_out=tuple((each.entrant.name, each.why) for each in rehearsed.left_out),
            learnt=tuple(each.name for each in taking_part if each.learns and each not in absent),
        )
        place = {(task.kind, task.seed): at for at, task in enumerate(tasks)}
        order = {each.name: at for at, each in enumerate(taking_part)}
        outcomes = sorted(rehearsed.outcomes, key=lambda each: (order[each.entrant], place[each.task_id]))
        self._report(outcomes, {each.name: each.group for each in taking_part}, setting, out)

    def _carry_out(
        self, pool: Pool, tasks: Sequence[Task], taking_part: Sequence[Entrant], options: dict[str, Any]
    ) -> Rehearsed:
        rehearsal = Rehearsal(
            pool, by=ensure_first_person(now=timezone.now()), speed=options["speed"], jobs=options["jobs"]
        )
        total = len(tasks) * len(taking_part)
        self.stderr.write(f"{len(tasks)} tasks, {len(taking_part)} entrants: {total:,} runs at most.")
        count = 0

        def done(outcome: Outcome) -> None:
            nonlocal count
            count += 1
            if count % max(1, total // 10) == 0:
                self.stderr.write(f"  {count:,} of {total:,} runs done")

        return rehearsal.carry_out(tasks, taking_part, done=done)

    def _report(self, outcomes: Sequence[Outcome], groups: Mapping[str, Group], setting: Setting, out: Path) -> None:
        contest = hold(outcomes, groups)
        out.mkdir(parents=True, exist_ok=True)
        write_lines(out / OUTCOMES, outcomes)
        write_lines(out / SCORES, scores(outcomes))
        (out / "report.html").write_text(report.page(contest, setting), encoding="utf-8")
        self.stdout.write("\n".join(report.lines(contest, setting)))
        self.stdout.write(f"\nReport: {out / 'report.html'}\nResults: {out / OUTCOMES}, {out / SCORES}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"“{text[:40]}” is no number of one or more")
    return int(text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= 1000:
        raise ArgumentTypeError(f"“{text[:40]}” is no number from 0 to 1000")
    return speed
