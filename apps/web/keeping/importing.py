"""Bringing a workflow in: as the studio's JSON, or as three lists in JSON or as a conductor writes them.

What was pasted stays in the form, so that reading, choosing workers and keeping are one page without any memory.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from uuid import uuid4

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Project, User
from apps.conductor.parse import parse
from apps.core.errors import Invalid, StudioError
from apps.runs.models import Run
from apps.runs.services import WorkflowInvalid, project_of
from apps.runs.templates import draw_run, keep_template
from apps.web.access import person
from apps.web.editing.outlined import Outlined, in_short
from apps.web.posted import key_of
from apps.web.starting.choices import Choice, choices_of
from apps.workers.calls import clean
from apps.workers.models import Profile
from apps.workflows import placeholders
from apps.workflows.graph import Problem
from apps.workflows.models import SavedWorkflow
from apps.workflows.portable import MOST_CHARS, FileInvalid, Portable, of_lists, read_json, with_workers

FIELDS = ("name", "task", "profile", "unknown_price")
FIRST_NAME = 1_000  # names in lists get numbers behind all that a list may have of its own
MODEL_LIST = re.compile(r"model_?ids?[\"'`* ]{0,4}\s{0,4}[:=]\s{0,4}\[([^\[\]]{0,20000})\]", re.IGNORECASE)
NAMED = re.compile(r"[\"']([^\"'\n]{1,100})[\"']|([A-Za-z][\w./:-]{0,99})")


def read(text: str) -> Portable:
    """What was pasted, in whichever form it is.

    :raises FileInvalid: it is none, with the line, step or edge at fault.
    """
    if not text.strip():
        raise FileInvalid([Problem("empty", "Paste a workflow, or choose a file.")])
    if text.lstrip().startswith("{"):
        return read_json(text)
    if len(text) > MOST_CHARS:
        raise FileInvalid([Problem("too-long", f"This has {len(text):,} characters; at most {MOST_CHARS:,} are read.")])
    return _lists(text)


def _lists(text: str) -> Portable:
    """Three lists as a conductor writes them, its workers called by numbers or by names."""
    listed = MODEL_LIST.search(text)
    found = [quoted or bare for quoted, bare in NAMED.findall(listed[1])] if listed else []
    names = list(dict.fromkeys(name for name in found if not name.isdigit()))
    parsed = parse(text, names={name: FIRST_NAME + at for at, name in enumerate(names)})
    if parsed.lists is None:
        raise FileInvalid([Problem("no-lists", said.replace("The reply", "This text")) for said in parsed.problems])
    called = [names[number - FIRST_NAME] if number >= FIRST_NAME else number for number in parsed.lists.model_id]
    return of_lists(called, parsed.lists.subtasks, parsed.lists.access_list, about={})


def uploaded(file: "UploadedFile[bytes]") -> str:
    """The text of a file.

    :raises Invalid: it is too large, or no UTF-8.
    """
    if (file.size or 0) > MOST_CHARS:
        raise Invalid(f"This file has {file.size:,} bytes; at most {MOST_CHARS:,} are read.", field="text")
    try:
        text: str = file.read().decode("utf-8-sig")
        return text
    except UnicodeDecodeError as error:
        raise Invalid(f"This file is not UTF-8: byte {error.start:,} cannot be read.", field="text") from None


@dataclass
class ImportForm:
    """What was pasted, what it was read as, and what is to become of it."""

    by: User
    text: str = ""
    name: str = ""
    task: str = ""
    profile_slug: str = ""
    unknown_price: bool = False
    instead: dict[str, str] = field(default_factory=dict)
    submit_key: str = field(default_factory=lambda: uuid4().hex)
    portable: Portable | None = None
    errors: dict[str, str] = field(default_factory=dict)
    faults: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_first: bool = True  # name and task are taken from what was read

    @classmethod
    def of(cls, posted: QueryDict, file: "UploadedFile[bytes] | None", *, by: User) -> "ImportForm":
        form = cls(by, text=clean(posted.get("text", "")), profile_slug=posted.get("profile", "")[:100])
        form.unknown_price = bool(posted.get("unknown_price"))
        form.submit_key = posted.get("submit_key", "")[:64] or uuid4().hex
        form.is_first = file is not None or posted.get("action", "read") == "read"
        try:
            form.text = clean(uploaded(file)) if file is not None else form.text
            form.take(read(form.text), posted)
        except FileInvalid as invalid:
            form.faults = invalid.problems
        except Invalid as refusal:
            form.faults = (Problem("no-file", refusal.message),)
        return form

    def take(self, portable: Portable, posted: QueryDict) -> None:
        """What was read, and what was chosen for it."""
        self.portable = portable
        self.name = portable.name if self.is_first else posted.get("name", "")
        self.task = portable.task if self.is_first else clean(posted.get("task", "")).replace("\r\n", "\n")
        given = {slug: posted.get(f"instead-{slug}", "")[:100] for slug in portable.workers}
        self.instead = {} if self.is_first else {slug: chosen for slug, chosen in given.items() if chosen}

    @cached_property
    def project(self) -> Project:
        """Where it is kept or run. :raises Denied: nowhere."""
        return project_of(self.by)

    @property
    def choices(self) -> list[Choice]:
        return choices_of(self.project)

    @property
    def profile(self) -> Profile | None:
        by_slug = {choice.slug: choice for choice in self.choices if choice.pool}
        chosen = by_slug.get(self.profile_slug) or next(iter(by_slug.values()), None)
        return chosen.profile if chosen else None

    @property
    def outlined(self) -> Outlined | None:
        if self.portable is None:
            return None
        workflow = self.portable.workflow
        return Outlined(
            workflow, project=self.project, profile=self.profile, instead=self.instead, problems=self.problems
        )

    def keep(self, portable: Portable) -> SavedWorkflow:
        """Keep it as a template. :raises StudioError: with the field at fault."""
        return keep_template(
            name=self.name,
            description=portable.description,
            task=self.task if portable.placeholders else placeholders.written_out(self.task),
            workflow=with_workers(portable.workflow, self.instead),
            profile=self.profile.slug if self.profile else "",
            project=self.project,
            by=self.by,
            now=timezone.now(),
        )

    def open(self, portable: Portable) -> Run:
        """A run of it, held for review. :raises StudioError: with the field at fault."""
        if self.profile is None:
            raise Invalid("No profile is offered to you. Ask an admin for one.", field="profile")
        return draw_run(
            task=placeholders.fill(self.task, {}) if portable.placeholders else self.task,
            profile=self.profile,
            workflow=with_workers(portable.workflow, self.instead),
            project=self.project,
            by=self.by,
            now=timezone.now(),
            unknown_price_ok=self.unknown_price,
            submit_key=key_of(self.submit_key, self.text, self.task, self.profile.slug, str(self.instead)),
        )

    def refuse(self, refusal: StudioError) -> None:
        if isinstance(refusal, WorkflowInvalid):
            self.problems = refusal.problems
            self.errors["workflow"] = in_short(refusal.problems)
        elif isinstance(refusal, placeholders.PlaceholderEmpty):
            self.errors["task"] = (
                f"This is a template: write what {{{refusal.name}}} is to be, or keep it and start it."
            )
        else:
            self.errors[refusal.field if refusal.field in FIELDS else "workflow"] = refusal.message


@require_http_methods(["GET", "HEAD", "POST"])
def import_workflow(request: HttpRequest) -> HttpResponse:
    """Paste or upload, look at it, and keep it as a template or open it as a run that waits for review."""
    user = person(request)
    project_of(user)  # whoever may keep nothing anywhere is told so before they paste anything
    if request.method != "POST":
        return render(request, "saved/import.html", {"form": ImportForm(user)})
    form = ImportForm.of(request.POST, request.FILES.get("file"), by=user)
    if form.portable is None:
        return render(request, "saved/import.html", {"form": form}, status=422)
    try:
        match request.POST.get("action"):
            case "keep":
                template = form.keep(form.portable)
                messages.success(request, f"Kept as “{template.name}”.")
                return redirect("workflow", template.pk)
            case "open":
                return redirect("run-edit", form.open(form.portable).code)
    except StudioError as refusal:
        form.refuse(refusal)
    return render(request, "saved/import.html", {"form": form}, status=422 if form.errors else 200)


urls: list[URLPattern] = [path("workflows/import/", import_workflow, name="workflow-import")]
