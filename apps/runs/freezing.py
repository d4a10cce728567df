"""A run's setup: planner, conductor, pool and limits as they were when it was submitted, so that nothing changes it."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from django.db.models import prefetch_related_objects

from apps.accounts.models import Project
from apps.conductor.services import embedder_of, latest_learnt
from apps.core.errors import Invalid
from apps.workers.models import Conductor, Profile, Worker
from apps.workers.services import price_of


class NoWorkers(Invalid):
    """The profile offers nobody to do it."""


class PriceUnknown(Invalid):
    """Nobody knows what some of the run's calls will cost, and nobody said that this is all right."""

    def __init__(self, names: Sequence[str]) -> None:
        one = len(names) == 1
        super().__init__(
            f"The price of {' and '.join(names[:5])} is unknown, so what {'it costs' if one else 'they cost'} can "
            "neither be limited nor told. Say that the run may be made all the same, or have the price entered.",
            field="unknown_price",
        )
        self.names = tuple(names)


def freeze(
    profile: Profile,
    *,
    project: Project,
    seed: int,
    workers: Sequence[str] | None = None,
    max_steps: int | None = None,
    rounds: int | None = None,
    review: bool | None = None,
) -> dict[str, Any]:
    """Planner, conductor, pool and limits as they are now, for a run of `project` to keep.

    `workers` are the slugs of the pool in the order the planner numbers them; None: as the profile says, which may be
    any few of its workers in any order, drawn by `seed`.

    :raises NoWorkers: the pool is empty. :raises Invalid: the profile is another project's, or its planner has no
        conductor; a worker is unknown.
    """
    if profile.project_id not in (None, project.pk):
        raise Invalid(f"There is no profile “{profile.slug}” in {project.name}. Choose another one.", field="profile")
    chosen = frozen(_pool(profile, project=project, seed=seed, workers=workers), project=project)
    conductor = _conductor(profile, profile.planner, profile.conductor, chosen, project=project)
    if profile.nesting and profile.conductor is not None and _is_usable(profile.conductor, project):
        itself = profile.conductor.freeze()
        chosen.append(itself | {"strengths": "writes and carries out a workflow of its own", "conducts": True})
    return {
        "profile": profile.slug,
        "version": profile.version,
        "planner": profile.planner,
        "conductor": conductor,
        **_learnt(profile.planner, profile, project),
        "fallback": {
            "planner": profile.fallback,
            "conductor": _conductor(profile, profile.fallback, profile.fallback_conductor, chosen, project=project),
            **_learnt(profile.fallback, profile, project),
        }
        if profile.fallback
        else None,
        "options": dict(profile.options),
        "pool": chosen,
        "max_steps": max_steps or (conductor or {}).get("max_steps") or profile.max_steps,
        "rounds": rounds or profile.rounds,
        "nesting": profile.nesting,
        "tries": profile.tries,
        "review": profile.review if review is None else review,
        "seed": seed,
    }


def _learnt(planner: str, profile: Profile, project: Project) -> dict[str, Any]:
    """What `planner` has learnt by now, and the worker whose vectors it goes by."""
    learnt = latest_learnt(planner)
    embedder = embedder_of(planner, learnt=learnt, options=profile.options, project=project)
    return {"learnt": learnt, "embedder": embedder}


def _pool(profile: Profile, *, project: Project, seed: int, workers: Sequence[str] | None) -> list[Worker]:
    offered = profile.pool(project)
    if not offered:
        raise NoWorkers(
            f"The profile “{profile.name}” has no enabled worker. Add or enable one in the admin pages.",
            field="profile",
        )
    if workers is not None:
        by_slug = {worker.slug: worker for worker in offered}
        if missing := [slug for slug in workers if slug not in by_slug]:
            raise Invalid(f"“{missing[0][:63]}” is no worker that “{profile.name}” offers.", field="workers")
        if not workers:
            raise NoWorkers("Choose at least one worker.", field="workers")
        return [by_slug[slug] for slug in dict.fromkeys(workers)]
    if profile.pool_size is not None:
        return Random(seed).sample(offered, min(profile.pool_size, len(offered)))  # noqa: S311 - nothing is secret here
    return offered


def _conductor(
    profile: Profile, planner: str, conductor: Conductor | None, pool: Sequence[dict[str, Any]], *, project: Project
) -> dict[str, Any] | None:
    """The model that `planner` asks, frozen; None where it asks none.

    :raises Invalid: it needs one and there is none for runs of `project`.
    """
    if planner == Profile.Planner.UNTRAINED:
        return _untrained(profile, pool)
    if planner not in Profile.CONDUCTED:
        return None
    if conductor is None or not _is_usable(conductor, project):
        message = f"The profile “{profile.name}” has no enabled conductor. Choose another profile."
        raise Invalid(message, field="profile")
    return conductor.freeze()


def _is_usable(conductor: Conductor, project: Project) -> bool:
    return conductor.enabled and conductor.project_id in (None, project.pk)


def _untrained(profile: Profile, pool: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A worker of the pool as a conductor, configured as conductors are."""
    wanted = profile.options.get("worker", pool[0]["slug"])
    for worker in pool:
        if worker["slug"] == wanted:
            fresh = Conductor(slug=worker["slug"], reveal_names=True)
            return fresh.freeze() | worker
    raise Invalid(f"“{str(wanted)[:63]}”, who is to write the workflow, is not in the pool.", field="options")


def frozen(workers: Sequence[Worker], *, project: Project) -> list[dict[str, Any]]:
    """Workers as a run keeps them, each with those that stand in for it, as far as `project` may use them."""
    prefetch_related_objects(workers, "fallbacks__instead")
    usable = {worker.pk for worker in Worker.objects.usable_in(project).enabled().filter(embeds=False).only("pk")}

    def instead_of(worker: Worker) -> list[dict[str, Any]]:
        chain = [each.instead for each in worker.fallbacks.all() if each.instead_id in usable]
        return [each.freeze() for each in chain]

    return [each.freeze() | {"strengths": each.strengths, "fallbacks": instead_of(each)} for each in workers]


def check_prices(setup: Mapping[str, Any]) -> None:
    """Whoever may be asked in a run has a price, or is free. :raises PriceUnknown: somebody has none."""
    unknown = [each["name"] for each in _asked(setup) if is_price_unknown(each)]
    if unknown:
        raise PriceUnknown(list(dict.fromkeys(unknown)))


def _asked(setup: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in (setup, setup.get("fallback") or {}):
        if part.get("conductor"):
            yield part["conductor"]
    for worker in setup["pool"]:
        yield worker
        yield from worker.get("fallbacks", ())


def is_price_unknown(frozen: Mapping[str, Any]) -> bool:
    """Whether nobody knows what a frozen model's tokens cost."""
    price = price_of(frozen)
    return not price.free and (price.input_usd is None or price.output_usd is None)


def limit_of(profile: Profile, given: Decimal | None) -> Decimal | None:
    """What a run may cost: as given, else as its profile says; None: no limit.

    :raises Invalid: it is no sum of money.
    """
    if given is None:
        return profile.budget_usd
    if not given.is_finite() or given < 0 or given >= 10**9:
        raise Invalid("Give the most that the run may cost in USD, such as 0.50.", field="limit_usd")
    return given
