"""Memberships in the admin pages, alone and beside a person or a project, under the rules of `projects`.

Whose one is and where stays as it was made: another person's would be another membership, with this one's keys.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.consequences import Consequence
from apps.accounts.looks import TabularInline
from apps.accounts.models import Membership, Project, User
from apps.accounts.projects import LastAdmin, check_admin_stays, end_what_it_opened
from apps.accounts.services import TRAIL
from apps.accounts.trailed import Trailed
from apps.audit.log import JSON

if TYPE_CHECKING:  # generic to the type checker alone
    FormSet = BaseInlineFormSet[Membership, Any, Any]
else:
    FormSet = BaseInlineFormSet


class MembershipForm(forms.ModelForm[Membership]):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        for name in {"user", "project"} & set(self.fields):
            self.fields[name].disabled = self.instance.pk is not None

    @property
    def is_of_admin(self) -> bool:
        return self.cleaned_data.get("role") == Membership.Role.ADMIN


class OneMembershipForm(MembershipForm):
    def clean(self) -> None:
        super().clean()
        if self.instance.pk and not self.is_of_admin:
            _check([self.instance])


class MembershipFormSet(FormSet):
    """Those of a person or a project, looked at together: of two admins who leave at once one was the last."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors):
            return
        staying = [form for form in self.forms if form.is_of_admin and form not in self.deleted_forms]
        kept = {form.cleaned_data["project"].pk for form in staying if form.cleaned_data["user"].is_active}
        leaving = [form.instance for form in self.initial_forms if form not in staying]
        _check([each for each in leaving if each.project_id not in kept])


class Memberships(TabularInline):
    model = Membership
    form = MembershipForm
    formset = MembershipFormSet
    extra = 0


@admin.register(Membership)
class MembershipAdmin(Trailed):
    trail, noun = TRAIL, "membership"
    form = OneMembershipForm
    list_display = ("user", "project", "role")
    list_filter = ("project", "role")

    def facts(self, row: Membership) -> dict[str, JSON]:
        return {"membership": row.pk, "person": row.user_id, "project": row.project.slug, "role": row.role}

    def subject(self, row: Membership) -> str:
        return f"person:{row.user_id}"

    def forbidding(self, rows: Sequence[Membership]) -> list[Consequence]:
        return last_of(rows)

    def also(self, rows: Sequence[Membership]) -> list[Consequence]:
        return [Consequence("Keys of their programs for the project open nothing any more")]

    def end_with(self, request: HttpRequest, rows: Sequence[Membership]) -> None:
        assert isinstance(request.user, User), "nobody else comes to the admin pages"
        for row in rows:
            end_what_it_opened(member=row, by=request.user.actor, now=timezone.now())


def last_of(rows: Iterable[Membership]) -> list[Consequence]:
    """The projects that would have no admin without `rows`, each in words."""
    refusals = []
    for project, pks in _by_project(rows).items():
        try:
            check_admin_stays(project, but=pks)
        except LastAdmin as refusal:
            refusals.append(Consequence(refusal.message))
    return refusals


def _check(leaving: Sequence[Membership]) -> None:
    """:raises ValidationError: a project would have no admin without these, or without these being of admins."""
    projects = _by_project(leaving)
    # Locked as by those who administer them: of two admins who are taken away here and there one stays.
    list(Project.objects.select_for_update().filter(pk__in=[each.pk for each in projects]).order_by("pk"))
    if refusals := last_of(leaving):
        raise ValidationError([each.text for each in refusals])


def _by_project(rows: Iterable[Membership]) -> dict[Project, list[int]]:
    found: dict[Project, list[int]] = defaultdict(list)
    for row in rows:
        found[row.project].append(row.pk)
    return found
