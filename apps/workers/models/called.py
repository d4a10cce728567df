"""What a worker and a conductor share: a model behind an endpoint, how it is called, and what that costs."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from apps.accounts.models import Project

from .credentials import Credential, Scoped

slug_rule = RegexValidator(
    r"^[a-z0-9][a-z0-9._-]{0,62}$", "use lower-case letters, digits, dots, dashes and underscores"
)


PER_MILLION = "USD per million tokens"
HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+")  # a name, an IPv4 or an IPv6 address


def check_base_url(url: str) -> None:
    """Refuse what is no address of an endpoint. A host may be a single word, as services in a private network are."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        sound = parts.port != 0 and url.isprintable() and " " not in url and "\\" not in url  # a bad port raises
    except ValueError:
        host, sound = "", False
    if not (sound and HOST.fullmatch(host) and parts.scheme in ("http", "https")):
        raise ValidationError("Give the endpoint's address, such as http://vllm:8000/v1.")
    if "@" in parts.netloc:
        raise ValidationError("Leave names and passwords out of the address; keep a key as a credential.")
    if "?" in url or "#" in url:
        raise ValidationError("The address ends with its path: leave out what follows “?” or “#”.")


class CalledModel(models.Model):
    """What a worker and a conductor share: a model behind an endpoint, and how to call it."""

    class Transport(models.TextChoices):
        WIRE = "wire", "OpenAI protocol"
        LITELLM = "litellm", "litellm"

    class Effort(models.TextChoices):
        MINIMAL = "minimal"
        LOW = "low"
        MEDIUM = "medium"
        HIGH = "high"

    slug = models.CharField(max_length=63, unique=True, validators=[slug_rule])
    name = models.CharField(max_length=100)
    provider = models.CharField(max_length=50, blank=True)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    transport = models.CharField(
        max_length=10,
        choices=Transport,
        default=Transport.WIRE,
        help_text="OpenAI protocol: for vLLM, Ollama, OpenAI and others that speak it; litellm: for all others",
    )
    base_url = models.CharField(
        max_length=500,
        blank=True,
        validators=[check_base_url],
        help_text="up to /v1, such as http://vllm:8000/v1; with litellm mostly left empty",
    )
    model = models.CharField(max_length=300)
    credential = models.ForeignKey(Credential, models.PROTECT, null=True, blank=True)
    params = models.JSONField(default=dict, blank=True, help_text="temperature, max_tokens, …, sent with every call")
    tags = models.JSONField(
        default=list,
        blank=True,
        help_text="what can be relied on, such as eu-hosted, for rules that ask for it; its replies carry them on",
    )
    simulated = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)
    # Switched off by a start without the simulator, so that the next start with it switches it on again.
    away = models.BooleanField(default=False, editable=False)
    # USD for a million tokens. Null is "unknown", which is never taken for 0; a model of one's own is marked free.
    input_price_usd = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=f"{PER_MILLION}; empty: unknown, never nothing",
    )
    cached_price_usd = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=f"{PER_MILLION}; empty: as any other input",
    )
    output_price_usd = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=f"{PER_MILLION}; empty: unknown, never nothing",
    )
    free = models.BooleanField("self-hosted, free", default=False, help_text="costs nothing, whatever the prices say")
    # Grows with every change of a price, so that a figure can say by which prices it came about.
    price_version = models.PositiveIntegerField(default=1, editable=False)
    price_from = models.CharField(max_length=100, blank=True, editable=False)  # the catalogue, or whoever entered it
    max_output_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="the longest reply it can give; what a call may cost at most is reckoned with it",
    )
    reasoning_effort = models.CharField(
        max_length=10, choices=Effort, blank=True, help_text="for models that think first; empty: as they like"
    )
    concurrency = models.PositiveSmallIntegerField(
        "calls at once",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="over all drivers; others wait for a place. Empty: as many as come",
    )
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    tokens_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="of input and output together"
    )
    connect_timeout_s = models.FloatField(default=10)
    first_token_timeout_s = models.FloatField(default=120)
    between_tokens_timeout_s = models.FloatField(default=60)
    whole_timeout_s = models.FloatField(default=1800)

    objects = Scoped.as_manager()

    class Meta:
        abstract = True
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """A project's own key opens nothing for others: not even by way of a model that is everybody's."""
        super().clean()
        if self.credential is not None and self.credential.project_id not in (None, self.project_id):
            owner = self.credential.project
            raise ValidationError({"credential": f"This key is the project {owner}'s own: choose one of everybody's."})

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two calls the same call, beside the messages."""
        effort = {"reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {}
        params = self.params | effort
        return {"transport": self.transport, "base_url": self.base_url, "model": self.model, "params": params}

    @property
    def letter(self) -> str:
        return (self.provider or self.name or self.slug)[:1].upper()

    @property
    def colour(self) -> str:
        """One of the four hues in which a provider's chip is drawn."""
        return "abcd"[sum(map(ord, self.provider or self.slug)) % 4]

    def freeze(self) -> dict[str, Any]:
        """All that a call needs but the key, as plain data: a run keeps it, so that later changes do not reach it."""

        def price(value: Decimal | None) -> str | None:
            return None if value is None else str(value)

        return {
            "slug": self.slug,
            "name": self.name,
            "provider": self.provider,
            "letter": self.letter,
            "colour": self.colour,
            "simulated": self.simulated,
            "tags": sorted(self.tags),
            "identity": self.identity,
            "credential": self.credential_id,
            "price": {
                "input_usd": price(self.input_price_usd),
                "cached_usd": price(self.cached_price_usd),
                "output_usd": price(self.output_price_usd),
                "free": self.free,
                "version": self.price_version,
                "from": self.price_from,
            },
            "max_output_tokens": self.max_output_tokens,
            "limits": {
                "concurrency": self.concurrency,
                "requests_per_minute": self.requests_per_minute,
                "tokens_per_minute": self.tokens_per_minute,
            },
            "timeouts": {
                "connect_s": self.connect_timeout_s,
                "first_token_s": self.first_token_timeout_s,
                "between_tokens_s": self.between_tokens_timeout_s,
                "whole_s": self.whole_timeout_s,
            },
        }
