"""Trains a planner on recorded results, in seconds: what a rehearsal writes, or rows of one's own."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.audit.log import STUDIO
from apps.conductor.services import keep_learnt
from apps.core.errors import StudioError


class Command(BaseCommand):
    help = (
        "Train a planner that learns (routerdc, masrouter, smoothie) on recorded results: files of JSON lines, one for "
        'each task and worker, {"task": …, "worker": …, "correct": 0 or 1, "cost_usd": …, "answer": …}, or the folder '
        "that `rehearse` wrote. Runs submitted afterwards plan by it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("planner", help="routerdc, masrouter or smoothie")
        parser.add_argument("--from", dest="paths", nargs="+", type=Path, required=True, metavar="PATH")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, planner: str, paths: list[Path], seed: int, **options: Any) -> None:
        from apps.conductor.learning import records, training  # scikit-learn: not for every command of manage.py

        began = time.monotonic()
        try:
            known = records.read(paths)
            held = training.hold_out(planner, known, seed=seed)
            body = training.train(planner, known, seed=seed)
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        trained_on = {
            "tasks": len(known.tasks),
            "workers": list(known.workers),
            "seed": seed,
            "held_out": {
                "tasks": held.tasks,
                "planner": held.planner,
                "chance": held.chance,
                "best_single": held.best_single,
            },
        }
        kept = keep_learnt(planner=planner, body=body, trained_on=trained_on, by=STUDIO, now=timezone.now())
        self.stdout.write(
            f"{planner} learnt from {len(known.tasks)} tasks and {len(known.workers)} workers "
            f"in {time.monotonic() - began:.1f} s, kept as {kept.digest[:12]}.\n"
            f"Trained on four fifths of them, it solved of the other {held.tasks}: {held.planner:.0%}; "
            f"any worker {held.chance:.0%}, the best single one ({held.best_worker}) {held.best_single:.0%}."
        )
