"""The forms of adding a worker: a search, an address, and the short form that every way ends in."""

from typing import Any
from urllib.parse import urlsplit

from django import forms

from apps.accounts.looks import PasswordInput, Select, Textarea, TextInput
from apps.workers import catalogue
from apps.workers.addresses import why_host_refused
from apps.workers.admin.forms import CalledForm, check_key
from apps.workers.models import Credential, Worker, check_base_url
from apps.workers.providers import provider_of


def provider_choices() -> list[tuple[str, str]]:
    known = ((slug, provider_of(slug)) for slug in catalogue.providers())
    return [("", "any provider"), *((slug, provider.name if provider else slug) for slug, provider in known)]


class SearchForm(forms.Form):
    q = forms.CharField(label="model", required=False, max_length=100, widget=TextInput(attrs={"type": "search"}))
    provider = forms.ChoiceField(choices=provider_choices, required=False, widget=Select)


class AddressForm(forms.Form):
    base_url = forms.CharField(
        label="address",
        max_length=500,
        widget=TextInput(attrs={"placeholder": "http://127.0.0.1:11434/v1", "inputmode": "url"}),
        validators=[check_base_url],
        help_text="up to /v1: vLLM, Ollama, LM Studio, or any other that speaks the OpenAI protocol",
    )
    credential = forms.ModelChoiceField(
        Credential.objects.order_by("label"),
        required=False,
        widget=Select,
        empty_label="none: it wants no key",
        help_text="with one, a driver asks: nobody else opens keys",
    )

    def clean_base_url(self) -> str:
        url: str = self.cleaned_data["base_url"].strip().rstrip("/")
        if why := why_host_refused(urlsplit(url).hostname or ""):
            raise forms.ValidationError(f"{why[:1].upper()}{why[1:]}.")
        return url


class NewWorkerForm(CalledForm):
    """The few fields that a worker cannot do without, a new key among them where it is wanted."""

    key = forms.CharField(
        label="or a new key",
        required=False,
        widget=PasswordInput(attrs={"autocomplete": "off"}),
        help_text="kept encrypted as a credential of its own, and never shown again",
    )
    label = forms.CharField(label="its label", required=False, max_length=100, widget=TextInput)

    class Meta:
        model = Worker
        fields = (
            "name",
            "slug",
            "provider",
            "transport",
            "base_url",
            "model",
            "credential",
            "free",
            "input_price_usd",
            "cached_price_usd",
            "output_price_usd",
            "context_window",
            "max_output_tokens",
            "strengths",
        )
        widgets = {
            **dict.fromkeys(
                (
                    "name",
                    "slug",
                    "provider",
                    "base_url",
                    "model",
                    "input_price_usd",
                    "cached_price_usd",
                    "output_price_usd",
                    "context_window",
                    "max_output_tokens",
                ),
                TextInput,
            ),
            "transport": Select,
            "credential": Select,
            "strengths": Textarea(attrs={"rows": 2}),
        }
        labels = {
            "slug": "short name",
            "base_url": "address",
            "credential": "key",
            "input_price_usd": "price of input",
            "cached_price_usd": "of cached input",
            "output_price_usd": "of output",
        }

    field_order = (
        "name",
        "slug",
        "provider",
        "transport",
        "base_url",
        "model",
        "credential",
        "key",
        "label",
        "free",
        "input_price_usd",
        "cached_price_usd",
        "output_price_usd",
        "context_window",
        "max_output_tokens",
        "strengths",
    )

    def __init__(self, *args: Any, may_keep_keys: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        if not may_keep_keys:
            del self.fields["key"], self.fields["label"]

    def clean_key(self) -> str:
        return check_key(self.cleaned_data["key"])

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("key") and given.get("credential"):
            self.add_error("key", "Choose a key that is there, or enter a new one: not both.")
        if given.get("key") and not given.get("label"):
            given["label"] = f"{given.get('provider') or given.get('name') or 'a key'}"
        return given
