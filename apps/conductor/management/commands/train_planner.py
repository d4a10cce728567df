"""Trains a planner on recorded results, in seconds: what a rehearsal writes, or rows of one's own."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.audit.log import STUDIO
from apps.conductor.services import NO_EMBEDDER, keep_learnt, only_one
from apps.core.errors import StudioError
from apps.workers.calls import CallFailed
from apps.workers.models import Worker

if TYPE_CHECKING:
    from apps.conductor.learning.asking import Asked
    from apps.conductor.learning.training import HeldOut

TFIDF = "TF-IDF"


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
        parser.add_argument(
            "--embedder",
            metavar="SLUG",
            help="the embedding worker on whose vectors to train; none: on TF-IDF; left out: on those of the only "
            "enabled embedding worker that is everybody's, or else on TF-IDF",
        )

    def handle(
        self, *args: Any, planner: str, paths: list[Path], seed: int, embedder: str | None = None, **options: Any
    ) -> None:
        from apps.conductor.learning import bodies, records, training  # scikit-learn: not for every command

        began = time.monotonic()
        worker, why = choose_embedder(embedder)
        try:
            known = records.read(paths)
            asked = None if worker is None else ask(worker, training.texts_of(planner, known))
            vectors = None if asked is None else asked.vectors
            held = training.hold_out(planner, known, seed=seed, vectors=vectors)
            body = training.train(planner, known, seed=seed, vectors=vectors)
        except StudioError as refusal:
            raise CommandError(refusal.message) from refusal
        if worker is not None and asked is not None and planner != "smoothie":  # which goes by answers, when it runs
            body |= bodies.learnt_with(worker.freeze(), dims=asked.dims)
        trained_on = {
            "tasks": len(known.tasks),
            "workers": list(known.workers),
            "seed": seed,
            "vectors": TFIDF if worker is None else worker.slug,
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
            f"{said_of_vectors(worker, asked, why)}\n"
            f"{said_of_held_out(held)}"
        )


def choose_embedder(slug: str | None) -> tuple[Worker | None, str]:
    """The embedding worker to train with, or None and why there is none.

    :raises CommandError: the one that is asked for is none.
    """
    offered = Worker.objects.enabled().filter(embeds=True)
    if slug == NO_EMBEDDER:
        return None, "as was wished"
    if slug is not None:
        worker = offered.filter(slug=slug).first()
        if worker is None:
            known = ", ".join(offered.values_list("slug", flat=True)[:10]) or "none"
            raise CommandError(f"“{slug[:63]}” is no enabled embedding worker; there are: {known}.")
        return worker, ""
    shared = offered.filter(project=None)
    many = "there are several embedding workers: choose one with --embedder"
    return only_one(shared), many if shared.exists() else "there is no embedding worker"


def ask(worker: Worker, texts: "tuple[str, ...]") -> "Asked":
    """The worker's vectors of `texts`. :raises CommandError: it gave none."""
    from apps.conductor.learning.asking import ask_vectors

    try:
        return ask_vectors(worker.freeze(), texts)
    except (CallFailed, StudioError) as failure:
        raise CommandError(
            f"The embedding worker “{worker.slug}” gave no vectors: {failure.message.rstrip('.')}. "
            f"Nothing was trained. Try again when it answers, or train on TF-IDF with --embedder {NO_EMBEDDER}."
        ) from failure


def said_of_vectors(worker: Worker | None, asked: "Asked | None", why: str) -> str:
    if worker is None or asked is None:
        return f"Texts were compared by TF-IDF: {why}."
    cost = "at a price nobody knows" if asked.cost_usd is None else f"for ${asked.cost_usd.normalize():f}"
    simulated = " (simulated)" if worker.simulated else ""
    return (
        f"Texts were compared by the vectors of {worker.slug}{simulated}: {len(asked.vectors):,} texts as "
        f"{asked.dims:,} numbers each, {asked.input_tokens:,} tokens {cost}."
    )


def said_of_held_out(held: "HeldOut") -> str:
    return (
        f"Trained on four fifths of them, it solved of the other {held.tasks}: {held.planner:.0%}; "
        f"any worker {held.chance:.0%}, the best single one ({held.best_worker}) {held.best_single:.0%}."
    )
