"""What people do with templates: keep a workflow and its task, change it, delete it, start a run; or draw one anew."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit import log as audit
from apps.audit.log import JSON, Entry
from apps.core.errors import Conflict, Invalid
from apps.runs.erased import check_still_whole, lock
from apps.runs.flow import written_in
from apps.runs.labels import NO_LABELS, Labels
from apps.runs.models import Run
from apps.runs.retention.holds import check_not_held
from apps.runs.services import check_workflow, clean_task, project_of, submit_run
from apps.workers.calls import clean
from apps.workers.models import Profile
from apps.workflows import placeholders
from apps.workflows.models import SavedWorkflow
from apps.workflows.portable import with_workers
from apps.workflows.workflow import Step, Workflow

FIRST_INSTRUCTION = "Answer the task."
LONGEST_NAME = 100
LONGEST_DESCRIPTION = 500


class NameTaken(Conflict):
    """Another template of the project has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is a template called “{name}” already. Give this one another name.", field="name")


class ChangedSince(Conflict):
    """Somebody has changed the template since its form was opened."""

    def __init__(self, template: SavedWorkflow) -> None:
        super().__init__(
            f"Somebody has changed this template since you opened it: it is at version {template.version} now. "
            "Look at it in another tab; keeping yours puts it in the place of theirs, which stays in the trail."
        )


@transaction.atomic
def keep_template(
    *,
    name: str,
    task: str,
    workflow: Workflow,
    by: User,
    now: datetime,
    project: Project | None = None,
    description: str = "",
    profile: str = "",
    source: Run | None = None,
) -> SavedWorkflow:
    """Keep `workflow` and its task under a name, in `project` or the person's own; of a run's, in the run's project.

    :raises Invalid: with the field at fault. :raises NameTaken: :raises WorkflowInvalid: it breaks a rule.
    :raises Denied: the person may keep nothing there.
    :raises RunErased: there is nothing of its `source` to keep.
    """
    if source is not None:
        check_still_whole(source)
    project = source.project if source else project or project_of(by)
    check_may(by, Deed.ACT, project)
    check_workflow(workflow, workers={step.worker for step in workflow.steps if step.worker})
    template = SavedWorkflow(
        project=project,
        owner=by,
        name=clean_name(name),
        description=clean_description(description),
        task=clean_text(task),
        body=workflow.model_dump(mode="json"),
        profile=profile,
        tags=sorted(Labels.of(source.setup).all_tags) if source else [],
        told=written_in(source) if source else None,
        source=source.code if source else "",
        created_at=now,
        updated_at=now,
    )
    _save(template)
    texts = {"name": template.name, "task": template.task}
    _leave(template, "template.kept", texts, by=by, at=now, source=template.source or None, steps=len(workflow.steps))
    return template


@transaction.atomic
def change_template(
    *, template: SavedWorkflow, seen: int, name: str, task: str, description: str, by: User, now: datetime
) -> SavedWorkflow:
    """Give a template another name, task or description; what was before stays in its trail.

    :raises Invalid: with the field at fault. :raises NameTaken: :raises ChangedSince: it is not the version `seen`.
    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, template.project)
    locked = SavedWorkflow.objects.select_for_update().get(pk=template.pk)
    if locked.version != seen:
        raise ChangedSince(locked)
    was = {"name": locked.name, "task": locked.task, "description": locked.description}
    new = {"name": clean_name(name), "task": clean_text(task), "description": clean_description(description)}
    changed = [field for field in was if was[field] != new[field]]
    if not changed:
        return locked
    locked.name, locked.task, locked.description = new["name"], new["task"], new["description"]
    locked.version, locked.updated_at = locked.version + 1, now
    _save(locked)
    texts = {field: new[field] for field in changed} | {f"before:{field}": was[field] for field in changed}
    given = {field: text for field, text in texts.items() if text}
    _leave(locked, "template.changed", given, by=by, at=now, version=locked.version, changed=list(changed))
    return locked


@transaction.atomic
def delete_template(*, template: SavedWorkflow, by: User, now: datetime) -> None:
    """Take a template away, and its texts from its trail; runs that were started from it stay as they are.

    :raises NotAllowed: the person may only look. :raises OnHold: a legal hold is on its project.
    """
    check_may(by, Deed.ACT, template.project)
    lock(template.project)
    check_not_held(template.project, ())
    locked = SavedWorkflow.objects.select_for_update().filter(pk=template.pk).first()
    if locked is None:
        return
    texts = audit.erase(locked.trail, at=now)
    _leave(locked, "template.deleted", {}, by=by, at=now, version=locked.version)
    _leave(locked, "template.erased", {}, by=by, at=now, texts=texts)
    locked.delete()


def start_template(
    *,
    template: SavedWorkflow,
    values: Mapping[str, str],
    profile: Profile,
    by: User,
    now: datetime,
    instead: Mapping[str, str] | None = None,
    held: bool = False,
    unknown_price_ok: bool = False,
    tags: Sequence[str] = (),
    submit_key: str | None = None,
) -> Run:
    """A run of the template's workflow under `profile`, its task filled in with `values`: as data, in one pass.

    It belongs to the template's project, and carries what the template does, and the `tags` of what was filled in.

    `instead` names other workers for some of its own. With `held` the run waits for review, as it does where the
    profile has every run reviewed.

    :raises PlaceholderEmpty: :raises WorkflowInvalid: a step names nobody whom the profile offers. :raises TaskTooLong:
    """
    project, workflow = template.project, with_workers(template.workflow, dict(instead or {}))
    held = held or profile.review
    told = Entry("run.templated", {"template": template.pk, "version": template.version}, {"name": template.name})
    return submit_run(
        task=placeholders.fill(template.task, values),
        profile=profile,
        by=by,
        now=now,
        project=template.project,
        workflow=workflow,
        workers=everybody(profile, project=project) if held else workers_for(workflow, profile, project=project),
        held=held,
        also=[told],
        unknown_price_ok=unknown_price_ok,
        labels=Labels(tags=(*template.tags, *tags), written=template.told),
        submit_key=submit_key,
    )


def draw_run(
    *,
    task: str,
    profile: Profile,
    by: User,
    now: datetime,
    project: Project | None = None,
    workflow: Workflow | None = None,
    workers: Sequence[str] = (),
    limit_usd: Decimal | None = None,
    unknown_price_ok: bool = False,
    labels: Labels = NO_LABELS,
    submit_key: str | None = None,
) -> Run:
    """A run whose workflow a person draws: held for review, with `workflow` or one step that answers the task.

    `workers` are those it is drawn with; none given, all that the profile offers.

    :raises NoWorkers: nobody is offered. :raises WorkflowInvalid: a step or an edge of `workflow` breaks a rule.
    :raises Denied: the person may start nothing there.
    """
    project = project or project_of(by)
    pool = list(workers) or everybody(profile, project=project)
    first = Step(key="s1", instruction=FIRST_INSTRUCTION, worker=pool[0] if pool else "")
    return submit_run(
        task=task,
        profile=profile,
        by=by,
        now=now,
        project=project,
        workflow=workflow or Workflow(steps=(first,)),
        workers=pool or None,
        held=True,
        limit_usd=limit_usd,
        unknown_price_ok=unknown_price_ok,
        labels=labels,
        submit_key=submit_key,
    )


def everybody(profile: Profile, *, project: Project) -> list[str]:
    """All that a profile offers, also where it would draw some of them: whoever draws a workflow chooses among all."""
    return [worker.slug for worker in profile.pool(project)]


def workers_for(workflow: Workflow, profile: Profile, *, project: Project) -> list[str] | None:
    """Those of the workflow's workers that `profile` offers, in the profile's order; None, as it says, where none is.

    A profile that draws some of its workers must not leave out one that a step names.
    """
    used = {step.worker for step in workflow.steps}
    return [worker.slug for worker in profile.pool(project) if worker.slug in used] or None


def clean_name(name: str) -> str:
    """:raises Invalid: it is empty or too long."""
    said = " ".join(clean(name).split())
    if not said or len(said) > LONGEST_NAME:
        message = f"A name has at most {LONGEST_NAME} characters." if said else "Give the template a name."
        raise Invalid(message, field="name")
    return said


def clean_description(text: str) -> str:
    """:raises Invalid: it is too long."""
    said = " ".join(clean(text).split())
    if len(said) > LONGEST_DESCRIPTION:
        raise Invalid(f"A description has at most {LONGEST_DESCRIPTION} characters.", field="description")
    return said


def clean_text(task: str) -> str:
    """The task of a template, whose placeholders can be found.

    :raises Invalid: it is empty or too long, or a brace in it is neither doubled nor part of a placeholder.
    """
    said = clean_task(task)
    placeholders.parts_of(said)
    return said


def _save(template: SavedWorkflow) -> None:
    try:
        with transaction.atomic():
            template.save()
    except IntegrityError:
        raise NameTaken(template.name) from None


def _leave(
    template: SavedWorkflow, verb: str, texts: Mapping[str, str], /, *, by: User, at: datetime, **data: JSON
) -> None:
    entry = Entry(verb, {"template": template.pk, **data}, texts)
    subject = f"template:{template.pk}"
    audit.append(template.trail, [entry], by=by.actor, at=at, subject=subject, project=template.project.slug)
