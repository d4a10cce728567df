"""A project with one of everything in it, and somebody in every role: what the habits are tried on.

Whatever is written in it has the word `heliotrope` in it, by which a page that tells others of it gives itself away.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import uuid4

from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from apps.accounts.api_keys import make_api_key
from apps.accounts.models import Membership, Project, User
from apps.audit.models import Event
from apps.runs.estimates import preview_of_fork
from apps.runs.excepting import seal_of
from apps.runs.experiments import start_experiment
from apps.runs.models import Run
from apps.runs.retention.holds import place_hold
from apps.runs.retention.policies import set_policy
from apps.runs.saved_views import save_view
from apps.runs.sharing import share_run
from apps.runs.templates import keep_template
from apps.runs.trying import try_worker
from apps.spend.models import Budget
from apps.workers.models import Conductor, Credential, Profile, Worker
from apps.workers.rules import add_rule, add_tag
from tests.factories import Driving, chain, make_pool, make_project, make_run
from tests.integration.habits.tables import contents

WORD = "heliotrope"
ROLES = ("analyst", "auditor", "admin")


@dataclass
class World:
    """Everything by the name under which the table of addresses asks for it."""

    project: Project
    people: dict[str, User]
    things: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def contents(self) -> dict[str, str]:
        """A digest of each table, as the world was made."""
        return contents()

    def __getitem__(self, name: str) -> Any:
        return self.things[name]

    def filled(self, given: Any) -> Any:
        """`given` with what is there under a name in the place of each `@name`."""
        if isinstance(given, str) and given.startswith("@"):
            return self.things[given[1:]]
        if isinstance(given, list):
            return [self.filled(each) for each in given]
        return given


def make_world() -> World:
    project = Project.objects.create(slug=WORD, name=WORD.title(), created_at=timezone.now())
    people = {role: _person(role, project, role) for role in ROLES}
    people["stranger"] = _person("stranger", make_project("elsewhere"), "admin")
    people["far"] = _person(
        "far", make_project("elsewhere"), "admin"
    )  # who administers the studio, and not this project
    people["root"] = _person("root", project, "analyst")
    User.objects.filter(username__in=["far", "root"]).update(is_superuser=True, is_staff=True)
    people = {name: User.objects.get(pk=person.pk) for name, person in people.items()}
    made = World(project, people)
    made.things |= {"project": project.slug, "project's id": project.pk} | dict(people)
    _pool(made)
    _runs(made)
    _kept(made)
    return made


def _person(name: str, project: Project, role: str) -> User:
    person = User.objects.create_user(name)
    Membership.objects.create(user=person, project=project, role=role)
    return person


def _pool(world: World) -> None:
    profile, project = make_pool(), world.project
    Worker.objects.create(slug=f"{WORD}-worker", name=WORD, model=WORD, free=True, project=project)
    Conductor.objects.create(slug=f"{WORD}-conductor", name=WORD, model=WORD, free=True, project=project)
    own = Profile.objects.create(slug=f"{WORD}-profile", name=WORD, planner="direct", project=project)
    credential = Credential(label=WORD, project=project)
    credential.keep(f"sk-{uuid4().hex}")
    credential.save()
    budget = Budget.objects.create(name=f"{WORD} budget", limit_usd=Decimal(9), project=project)
    world.things |= {"ultra": profile, "profile": own, "credential": credential, "budget": budget}
    world.things |= {"worker": f"{WORD}-worker", "conductor": f"{WORD}-conductor"}


def a_run(world: World, **changes: Any) -> Run:
    """A run that waits for a driver; `changes` are written over it afterwards."""
    run = make_run(
        by=world.people["analyst"],
        task=f"Which {WORD} grew most?",
        profile=world["ultra"],
        submit_key=uuid4().hex,
        now=timezone.now() - timedelta(minutes=5),
    )
    Run.objects.filter(pk=run.pk).update(**changes)
    return Run.objects.get(pk=run.pk)


def _planned(world: World, *, is_held: bool = False, **changes: Any) -> Run:
    driving = Driving(a_run(world))
    driving.plan(chain(f"Compute the {WORD}", "Answer the task"), hold=is_held)
    Run.objects.filter(pk=driving.run.pk).update(**changes)
    return driving.told()


def _runs(world: World) -> None:
    done = Driving(a_run(world))
    done.plan(chain(f"Compute the {WORD}", "Answer the task"))
    failed = Driving(a_run(world))
    failed.plan(chain(f"Compute the {WORD}", "Answer the task"))
    failed.finish("s1", WORD)
    held: dict[str, Any] = {"status": "held", "driver": ""}
    runs = {
        "done": done.carry({"s1": f"{WORD}: 53 %", "s2": f"The {WORD} grew most."}),
        "failed": failed.give_up(WORD, step="s2", code="step"),
        "queued": a_run(world),
        "running": _planned(world),
        "held": _planned(world, is_held=True),
        "paused": _planned(world, **held, hold="pause"),
        "ruled": _planned(world, **held, hold="rules"),
        "trial": try_worker(
            worker=Worker.objects.get(slug=world["worker"]), by=world.people["admin"], now=timezone.now()
        ),
    }
    world.things |= {name: run.code for name, run in runs.items()} | {f"run:{name}": run for name, run in runs.items()}
    _rule(world)


def _rule(world: World) -> None:
    """What holds the run that is held by rules, as its page tells it, and the seal of that."""
    run = world["run:ruled"]
    told = {"rule": 0, "carries": "secret", "needs": "safe", "reader": "s1", "model": "sim-birch", "run": run.code}
    told |= {"name": "secret>safe s1 sim-birch task:", "path": ["task:", "s1"], "sources": ["task:"]}
    run.held_by = {"rules": [told], "step": "s1", "steps": ["s1"]}
    run.save(update_fields=["held_by"])
    world.things["told"] = seal_of(told)


def _kept(world: World) -> None:
    analyst, admin, now, done = world.people["analyst"], world.people["admin"], timezone.now(), world["run:done"]
    add_tag(project=world.project, name=f"{WORD}-secret", by=admin, now=now)
    add_tag(project=world.project, name=f"{WORD}-safe", by=admin, now=now)
    carries, needs = f"{WORD}-secret", f"{WORD}-safe"
    rule = add_rule(project=world.project, carries=carries, needs=needs, by=admin, now=now)
    template = keep_template(
        name=f"{WORD} template", task=f"{WORD}: {{what}}", workflow=done.workflow, source=done, by=analyst, now=now
    )
    share, token = share_run(run=done, by=analyst, now=now)
    view = save_view(name=WORD, text=f'status:failed "{WORD}"', by=analyst, now=now)
    key, _ = make_api_key(person=analyst, project=world.project, name=WORD, scopes=["read"], by=analyst.actor, now=now)
    policy = set_policy(project=world.project, profile="", keep_days=9_000, reason=WORD, by=admin, now=now)
    hold = place_hold(project=world.project, run=world["run:failed"], reason=WORD, by=admin, now=now)
    tried = Driving(a_run(world))
    tried.plan(chain(f"Compute the {WORD}", "Answer the task"))
    trying = tried.carry({"s1": f"{WORD}: 53 %", "s2": f"The {WORD} grew most."})
    experiment = start_experiment(
        run=trying, edges=[("s1", "s2")], baseline=False, limit_usd=Decimal(1), by=analyst, now=now
    )
    member = world.project.memberships.get(user=world.people["auditor"])
    made = {"template": template, "share": share, "view": view, "key": key, "policy": policy, "hold": hold}
    identity, _ = [SocialAccount.objects.create(user=analyst, provider="oidc", uid=f"{WORD}-{n}") for n in (1, 2)]
    made |= {"experiment": experiment, "member": member, "rule": rule, "identity": identity}
    world.things |= {name: thing.pk for name, thing in made.items()} | {f"a {name}": it for name, it in made.items()}
    event = Event.objects.filter(project=world.project.slug, verb="tag.added").first()
    assert event is not None
    assert done.workflow is not None
    seal = preview_of_fork(parent=done, workflow=done.workflow, fresh=done.workflow.keys).seal
    world.things |= {"token": token, "trying": trying.code, "run:trying": trying, "event": event.pk, "seal": seal}
