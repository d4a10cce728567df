"""The forms of the pool: what is wrong is said at its field, before anything is kept or called."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django import forms

from apps.accounts.looks import CheckboxSelectMultiple, PasswordInput
from apps.workers import catalogue, wire
from apps.workers.addresses import why_host_refused
from apps.workers.calls import CallFailed, Endpoint
from apps.workers.models import CalledModel, Conductor, Credential, Tag, Worker

# What the studio itself says with each call: given here it would contradict that, or lead elsewhere.
OURS = {"model", "messages", "stream", "base_url", "api_base", "api_key"}
LOOK_S = 2.0
NAMED = 5
PRICES = ("input_price_usd", "cached_price_usd", "output_price_usd", "free")


def check_key(key: str) -> str:
    """:raises ValidationError: it is no key that a header could carry."""
    key = key.strip()
    if any(ord(sign) < 33 or ord(sign) > 126 for sign in key):
        raise forms.ValidationError("A key is one line of visible ASCII characters; this one has others in it.")
    return key


class CredentialForm(forms.ModelForm[Credential]):
    """Takes a key, shows none."""

    key = forms.CharField(
        widget=PasswordInput(attrs={"autocomplete": "off"}),
        required=False,
        help_text="Kept encrypted and never shown again. Leave empty to keep the present one.",
    )

    class Meta:
        model = Credential
        fields = ("label", "project")

    def clean_key(self) -> str:
        key = check_key(self.cleaned_data["key"])
        if not key and not self.instance.pk:
            raise forms.ValidationError("Enter the provider's key.")
        return key


class CalledForm(forms.ModelForm[Any]):
    """What makes the call of a worker or a conductor, checked as far as it can be without one."""

    tags = forms.MultipleChoiceField(
        required=False,
        widget=CheckboxSelectMultiple,
        help_text="What can be relied on of it, for flow rules that ask for it; its replies carry them on.",
    )

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        if isinstance(field := self.fields.get("tags"), forms.MultipleChoiceField):
            field.choices = tag_choices(self.instance.tags)
        for name in PRICES:  # 5, and not 5.000000
            if isinstance(price := self.initial.get(name), Decimal):
                self.initial[name] = catalogue.plainly(price)

    def clean_params(self) -> dict[str, Any]:
        params = self.cleaned_data["params"]
        if not isinstance(params, dict):
            raise forms.ValidationError('Give the parameters by name, such as {"temperature": 0.2}.')
        if ours := sorted(OURS & params.keys()):
            raise forms.ValidationError(f"{', '.join(ours)}: this is said elsewhere in this form. Leave it out here.")
        return params

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        url, changed = given.get("base_url", ""), set(self.changed_data)
        if given.get("transport") == CalledModel.Transport.WIRE and url == "" and "base_url" not in self.errors:
            self.add_error("base_url", "The OpenAI protocol needs to know where: give the endpoint's address.")
        if url and "base_url" in changed and (why := why_host_refused(urlsplit(url).hostname or "")):
            self.add_error("base_url", f"{why[:1].upper()}{why[1:]}.")
        if not self.errors and {"base_url", "model", "transport"} & changed:
            self._check_model(given)
        return given

    def _check_model(self, given: dict[str, Any]) -> None:
        """A model that its endpoint does not list is refused, where the endpoint tells without a key."""
        if given.get("transport") != CalledModel.Transport.WIRE or given.get("credential") or given.get("key"):
            return
        served = models_at(given["base_url"])
        model = given.get("adapter") or given["model"]
        if served and not any(
            model == name or model.startswith(f"{name}:") or name == f"{model}:latest" for name in served
        ):
            known = ", ".join(served[:NAMED]) + (", …" if len(served) > NAMED else "")
            self.add_error("model", f"The endpoint answers, but has no such model. It serves {known}.")


LABELS = {
    "slug": "Short name",
    "base_url": "Address",
    "params": "Parameters",
    "input_price_usd": "Input",
    "cached_price_usd": "Cached input",
    "output_price_usd": "Output",
}
# Said once above them, where three stand in a row.
SHARED = ("input_price_usd", "cached_price_usd", "output_price_usd", "concurrency", "tokens_per_minute")
HELP = dict.fromkeys(SHARED, "")


class WorkerForm(CalledForm):
    class Meta:
        model = Worker
        fields = ()  # the admin page names them
        labels = LABELS
        help_texts = HELP


class ConductorForm(CalledForm):
    class Meta:
        model = Conductor
        fields = ()  # the admin page names them
        labels = LABELS
        help_texts = HELP


def tag_choices(kept: Sequence[str]) -> list[tuple[str, str]]:
    """The tags there are, each once and with what it means; also those that a model has `kept` and nobody knows now."""
    found: dict[str, str] = {}
    for name, words in Tag.objects.values_list("name", "words"):
        found[name] = found.get(name) or words
    names = sorted({*found, *kept})
    return [(name, f"{name}: {found[name]}" if found.get(name) else name) for name in names]


def models_at(base_url: str) -> list[str]:
    """What an endpoint lists without a key; nothing where it does not, or not soon."""

    async def ask() -> list[str]:
        session = wire.open_session()
        try:
            endpoint = Endpoint(slug="", transport="wire", base_url=base_url, model="")
            return await wire.models_of(session, endpoint, within_s=LOOK_S)
        finally:
            await session.close()

    try:
        return asyncio.run(ask())
    except CallFailed:
        return []
