"""Admin pages whose every change is an event, written in the transaction of the change.

A row is read before and after, from the database and under a lock, so that an event tells what really changed, whatever
a form made of it. What goes along with a row that is deleted is told of too.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.contrib.admin.actions import delete_selected as delete_selected_of_django
from django.contrib.admin.utils import NestedObjects
from django.db import DEFAULT_DB_ALIAS, models, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from apps.accounts.changes import Values, as_text, changed
from apps.accounts.consequences import Consequence, Deletion, spoken, weigh
from apps.accounts.looks import ModelAdmin
from apps.accounts.models import User
from apps.audit import log
from apps.audit.log import JSON, Entry


@dataclass(frozen=True)
class Standing:
    """A row as it stands in the database: what names it, and its values, those of secrets kept out of the repr."""

    facts: Mapping[str, JSON]
    subject: str
    project: str  # whose auditors are to see what becomes of it; nobody's where it is empty
    values: Values = field(repr=False)


class Trailed(ModelAdmin):
    """The admin of a model whose rows have a trail."""

    actions = ("delete_selected",)

    trail: str
    noun: str
    made = "added"
    secret: Mapping[str, str] = {}  # fields that are named when they change, under these words, and never shown
    untold: Collection[str] = ()  # fields that no person changes
    # By model, what is said of rows that go along with one of these, or forbid that it goes.
    words: Mapping[str, str] = {}
    stays = ""  # what a deletion does not touch
    instead = ""  # what can be done instead of it

    # --- a row, as an event tells of it -----------------------------------------------------------------------------

    def facts(self, row: Any) -> dict[str, JSON]:
        """The ids by which an event names the row."""
        return {self.noun: getattr(row, "slug", row.pk)}

    def subject(self, row: Any) -> str:
        return f"{self.noun}:{row.pk}"

    def project_of(self, row: Any) -> str:
        """The slug of the project that the row is of; empty where it is the studio's."""
        its = getattr(row, "project", None)
        return its.slug if its else ""

    def told(self, values: Values) -> Values:
        """What of a row's values an event may hold."""
        return {name: value for name, value in values.items() if name not in self.secret.values()}

    def standing(self, pk: Any) -> Standing | None:
        """The row as it stands, locked until the transaction ends; None where there is none."""
        row = self.model._base_manager.select_for_update().filter(pk=pk).first()
        return row and Standing(self.facts(row), self.subject(row), self.project_of(row), self._values(row))

    def _values(self, row: Any) -> dict[str, Any]:
        fields = [*row._meta.concrete_fields, *row._meta.many_to_many]
        return {
            self.secret.get(each.name, each.name): value_of(row, each)
            for each in fields
            if not each.primary_key and each.name not in self.untold
        }

    def tell(self, request: HttpRequest, *, before: Standing | None, after: Standing | None) -> None:
        """Append what became of a row to the trail, in the transaction under way; nothing where nothing changed."""
        now = after or before
        if now is None or (entry := self._entry(before, after)) is None:
            return
        person = request.user
        assert isinstance(person, User), "nobody else comes to the admin pages"
        trail = log.trail_within(self.trail, now.project)
        log.append(trail, [entry], by=person.actor, at=timezone.now(), subject=now.subject, project=now.project)

    def _entry(self, before: Standing | None, after: Standing | None) -> Entry | None:
        if before is None:
            assert after is not None
            return Entry(f"{self.noun}.{self.made}", after.facts, {"after": as_text(self.told(after.values))})
        if after is None:
            return Entry(f"{self.noun}.removed", before.facts, {"before": as_text(self.told(before.values))})
        names = {name for name, value in after.values.items() if value != before.values[name]}
        if not names:
            return None
        old, new = ({name: each.values[name] for name in names} for each in (before, after))
        return changed(self.noun, after.facts, fields=names, before=self.told(old), after=self.told(new))

    # --- what Django's admin does, in the transaction that it opens for a form --------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.before = self.standing(obj.pk) if change else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        self.tell(request, before=form.before, after=self.standing(form.instance.pk))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        its = self._trailed(formset.model)
        if its is None:
            super().save_formset(request, form, formset, change)
            return
        before = {each.instance.pk: its.standing(each.instance.pk) for each in formset.initial_forms}
        super().save_formset(request, form, formset, change)
        for pk, standing in before.items():
            its.tell(request, before=standing, after=its.standing(pk))
        for row in formset.new_objects:
            its.tell(request, before=None, after=its.standing(row.pk))
        its.end_with(request, formset.deleted_objects)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            falling = self._falling([obj])
            super().delete_model(request, obj)
            self._tell_of_fallen(request, falling)
            self.end_with(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        with transaction.atomic():
            rows = list(queryset)
            falling = self._falling(rows)
            super().delete_queryset(request, queryset)
            self._tell_of_fallen(request, falling)
            self.end_with(request, rows)

    def end_with(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Let end what no foreign key ends with `rows`, in the transaction that deleted them."""

    # --- before anything goes: what depends on it -------------------------------------------------------------------

    def also(self, rows: Sequence[Any]) -> list[Consequence]:
        """What comes of deleting `rows` that no foreign key tells."""
        return []

    def forbidding(self, rows: Sequence[Any]) -> list[Consequence]:
        """What forbids that `rows` are deleted and no foreign key tells."""
        return []

    def deletion(self, rows: Sequence[Any]) -> Deletion:
        """All that whoever deletes `rows` should know."""
        forbids, along = weigh(rows, words=self.words)
        stays = [Consequence(self.stays)] if self.stays else []
        happens = [*self.also(rows), *along, *stays]
        return Deletion(spoken(rows), [*self.forbidding(rows), *forbids], happens, self.instead)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        going, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return going, counts, lacking, [*protected, *(each.text for each in self.forbidding(list(objs)))]

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        return super().render_delete_form(request, context | {"deletion": self.deletion([context["object"]])})

    @admin.action(permissions=["delete"], description="Delete what is selected")
    def delete_selected(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> HttpResponse | None:
        response = delete_selected_of_django(self, request, queryset)
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            response.context_data["deletion"] = self.deletion(list(queryset))
        return response

    def _falling(self, rows: Sequence[Any]) -> list[tuple["Trailed", Standing]]:
        """What goes when `rows` are deleted, with those that go along."""
        collector = NestedObjects(using=DEFAULT_DB_ALIAS)
        collector.collect(rows)
        falling = []
        for model, instances in collector.data.items():
            if its := self._trailed(model):
                falling += [(its, standing) for each in instances if (standing := its.standing(each.pk))]
        # Two trails are locked in one order.
        return sorted(falling, key=lambda each: log.trail_within(each[0].trail, each[1].project))

    def _tell_of_fallen(self, request: HttpRequest, falling: Iterable[tuple["Trailed", Standing]]) -> None:
        for its, standing in falling:
            its.tell(request, before=standing, after=None)

    def _trailed(self, model: type[models.Model]) -> "Trailed | None":
        its = self.admin_site.get_model_admin(model) if self.admin_site.is_registered(model) else None
        return its if isinstance(its, Trailed) else None


def value_of(row: Any, each: Any) -> Any:
    """A field's value as it is told: what it points to by name, everything else plainly."""
    if each.many_to_many:
        return sorted(str(other) for other in getattr(row, each.name).all())
    if each.is_relation:
        other = getattr(row, each.name)
        return None if other is None else str(other)
    return each.value_from_object(row)
