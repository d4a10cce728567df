"""What a task can be handed in under: the profiles as one chooses them, what each does, and the workers they offer."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.accounts.models import Project
from apps.web.words.figures import plural, usd
from apps.web.words.looks import Look
from apps.web.words.planners import about, label_of
from apps.workers.models import Conductor, Profile, Worker

MOST_PROFILES = 50
POOL_SHOWN = 8

# Those whose steps and rounds the profile limits; all others have limits of their own.
LIMITED = (Profile.Planner.CONDUCTOR, Profile.Planner.UNTRAINED)


@dataclass(frozen=True)
class Choice:
    """A profile as one chooses it."""

    profile: Profile
    pool: Sequence[Look]

    @property
    def slug(self) -> str:
        return self.profile.slug

    @property
    def shown(self) -> Sequence[Look]:
        return self.pool[:POOL_SHOWN]

    @property
    def more(self) -> int:
        return max(0, len(self.pool) - POOL_SHOWN)

    @property
    def conductor(self) -> Conductor | None:
        return self.profile.conductor if self.profile.planner in Profile.CONDUCTED else None

    @property
    def is_simulated(self) -> bool:
        """Whether any model it calls only pretends to be one."""
        return any(look.simulated for look in self.pool) or bool(self.conductor and self.conductor.simulated)

    @property
    def does(self) -> str:
        """`Conductor: a model writes the workflow, of at most 5 steps; if that fails, direct stands in.`"""
        profile = self.profile
        said = ": ".join(filter(None, [label_of(profile.planner), about(profile.planner)]))
        if profile.planner in LIMITED:
            said += f", in up to {profile.rounds} rounds of" if profile.rounds > 1 else ", of"
            said += f" at most {plural(profile.max_steps, 'step')}"
        if profile.nesting:
            depth = "" if profile.nesting == 1 else f", {profile.nesting} deep"
            said += f"; a step may become a workflow of its own{depth}"
        if profile.pool_size and profile.pool_size < len(self.pool):
            said += f"; any {profile.pool_size} of the workers take part"
        if profile.fallback:
            said += f"; if that fails, {label_of(profile.fallback)} stands in"
        if profile.budget_usd is not None:
            said += f"; for at most {usd(profile.budget_usd)}"
        return f"{said[:1].upper()}{said[1:]}."


@dataclass(frozen=True)
class Offered:
    """A worker, and the profiles that offer it."""

    look: Look
    profiles: Sequence[str]


def choices_of(project: Project) -> list[Choice]:
    """The profiles that runs of `project` may have, each with the workers it offers them."""
    profiles = Profile.objects.usable_in(project).enabled().select_related("conductor").prefetch_related("workers")
    # In the order in which planners number them; as `Profile.pool`, in one query for all profiles.
    workers = list(Worker.objects.usable_in(project).enabled().filter(embeds=False).order_by("slug"))
    choices = []
    for profile in profiles[:MOST_PROFILES]:
        chosen = {worker.pk for worker in profile.workers.all()}
        pool = [_look(worker) for worker in workers if not chosen or worker.pk in chosen]
        choices.append(Choice(profile, pool))
    return choices


def offered_by(choices: Sequence[Choice]) -> list[Offered]:
    """Every worker that some profile offers, in their order."""
    looks = {look.slug: look for choice in choices for look in choice.pool}
    return [
        Offered(look, [choice.slug for choice in choices if look in choice.pool])
        for look in sorted(looks.values(), key=lambda look: look.slug)
    ]


def _look(worker: Worker) -> Look:
    return Look(worker.slug, worker.name, worker.letter, worker.colour, worker.simulated)
