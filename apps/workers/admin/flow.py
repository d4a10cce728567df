"""Tags and flow rules of the whole studio in the admin pages; a project's own have a page of their project."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.looks import Select
from apps.accounts.trailed import Trailed
from apps.audit.log import JSON
from apps.workers.admin.forms import tag_choices
from apps.workers.models import FlowRule, Tag
from apps.workers.rules import STUDIO_TRAIL


class OfTheStudio(Trailed):
    """Rows that belong to no project."""

    trail = STUDIO_TRAIL
    untold = {"created_at", "version"}
    list_per_page = 100

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(project=None)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.created_at = timezone.now()
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Runs and models carry tags by their names, and runs name the rules that held them."""
        return False


class TagForm(forms.ModelForm[Tag]):
    class Meta:
        model = Tag
        fields = ("name", "words")

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Tag.objects.filter(project=None, name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(f"There is a tag “{name}” already.")
        return name


@admin.register(Tag)
class TagAdmin(OfTheStudio):
    noun = "tag"
    form = TagForm
    list_display = ("name", "words")
    fields = ("name", "words")

    def facts(self, row: Tag) -> dict[str, JSON]:
        return {"tag": row.name}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()


class RuleForm(forms.ModelForm[FlowRule]):
    """Says a rule between two of the tags there are."""

    carries = forms.ChoiceField(label="What carries", widget=Select)
    needs = forms.ChoiceField(label="may only be read by models with", widget=Select)

    class Meta:
        model = FlowRule
        fields = ("carries", "needs", "words", "enabled")

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        for name in ("carries", "needs"):
            field, kept = self.fields[name], getattr(self.instance, name)
            if isinstance(field, forms.ChoiceField):
                field.choices = tag_choices([kept] if kept else [])

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        pair = {name: given.get(name) for name in ("carries", "needs")}
        if FlowRule.objects.filter(project=None, **pair).exclude(pk=self.instance.pk).exists():
            self.add_error("carries", "There is a rule already that says the same. It may be switched off.")
        return given


@admin.register(FlowRule)
class FlowRuleAdmin(OfTheStudio):
    noun = "rule"
    form = RuleForm
    list_display = ("carries", "needs", "words", "enabled")
    fields = ("carries", "needs", "words", "enabled")

    def facts(self, row: FlowRule) -> dict[str, JSON]:
        return {"rule": row.pk, "carries": row.carries, "needs": row.needs, "enabled": row.enabled}

    def save_model(self, request: HttpRequest, obj: FlowRule, form: Any, change: bool) -> None:
        obj.version += 1 if change else 0
        super().save_model(request, obj, form, change)
