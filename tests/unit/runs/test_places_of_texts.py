"""No column that can hold a text of a run is forgotten when runs are erased."""

from collections.abc import Iterator

from django.apps import apps
from django.contrib.postgres.search import SearchVectorField
from django.db.models import CharField, Field, JSONField, Model, TextField

from apps.runs.models import Run
from apps.runs.retention.places import DELETED, ERASED, KEPT, REWRITTEN, without_instructions, without_texts

TEXTUAL = (CharField, TextField, JSONField, SearchVectorField)


def of_runs() -> Iterator[type[Model]]:
    """The models whose rows belong to a run, directly or through others that do."""
    known: list[type[Model]] = [Run]
    yield Run
    for model in known:  # which grows
        for other in apps.get_models():
            links = (field for field in other._meta.get_fields() if isinstance(field, Field) and field.is_relation)
            if other not in known and any(link.related_model is model for link in links):
                known.append(other)
                yield other


def textual(model: type[Model]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields if isinstance(field, TEXTUAL)}


def test_every_text_of_a_run_is_named_as_erased_or_as_kept() -> None:
    forgotten = {
        model.__name__: left
        for model in of_runs()
        if model not in DELETED
        and (left := textual(model) - {*ERASED.get(model, ()), *REWRITTEN.get(model, ()), *KEPT.get(model, ())})
    }

    assert forgotten == {}, "say in apps/runs/retention/places.py what becomes of these when a run is erased"


def test_nothing_is_named_that_is_not_there() -> None:
    for named in (ERASED, REWRITTEN, KEPT):
        for model, fields in named.items():
            assert set(fields) <= {field.name for field in model._meta.concrete_fields}, model


def test_a_workflow_keeps_its_shape_and_loses_its_words() -> None:
    body = {"steps": [{"key": "s1", "instruction": "Weigh it.", "access": []}], "sink": {"kind": "last"}}

    kept = without_instructions(body)

    assert kept == {"steps": [{"key": "s1", "instruction": "Erased", "access": []}], "sink": {"kind": "last"}}
    assert without_instructions(None) is None


def test_a_setup_loses_the_names_of_what_was_given_with_the_task() -> None:
    given = {"name": "salaries of Acme.csv", "chars": 40, "tags": ["client-confidential"]}

    kept = without_texts({"pool": [], "attachments": [given]})

    assert kept == {"pool": [], "attachments": [{"name": "", "chars": 40, "tags": ["client-confidential"]}]}
    assert without_texts({"pool": []}) == {"pool": []}
