"""Who can be asked: workers, conductors, the credentials they need, and profiles that bind them under a name.

All are global unless they name a project. What a run used is frozen on the run, so nothing here changes the past.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Max, Q
from django.db.models.functions import Now

from apps.accounts.models import Project, User
from apps.workers import vault

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


class Scoped(models.QuerySet[Any]):
    """Rows that are everybody's, or a project's own."""

    def visible_to(self, user: User | AnonymousUser) -> Scoped:
        return self.filter(Q(project=None) | Q(project__in=Project.objects.visible_to(user)))

    def enabled(self) -> Scoped:
        return self.filter(enabled=True)


class Credential(models.Model):
    """A provider's key, sealed. What people see of it is the label, the last four characters and its age."""

    label = models.CharField(max_length=100)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    sealed = models.TextField(editable=False)
    last_four = models.CharField(max_length=4, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = Scoped.as_manager()

    def __str__(self) -> str:
        return f"{self.label} (…{self.last_four})"

    def keep(self, secret: str) -> None:
        """Seal `secret` into this row (not saved yet)."""
        secret = secret.strip()
        self.sealed, self.last_four = vault.seal(secret), secret[-4:] if len(secret) >= 12 else ""


class CalledModel(models.Model):
    """What a worker and a conductor share: a model behind an endpoint, and how to call it."""

    class Transport(models.TextChoices):
        WIRE = "wire", "OpenAI protocol"
        LITELLM = "litellm", "litellm"

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
        help_text=f"{PER_MILLION}; empty: unknown, never nothing",
    )
    cached_price_usd = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text=f"{PER_MILLION}; empty: as any other input"
    )
    output_price_usd = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text=f"{PER_MILLION}; empty: unknown, never nothing",
    )
    free = models.BooleanField("self-hosted, free", default=False, help_text="costs nothing, whatever the prices say")
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

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two calls the same call, beside the messages."""
        return {"transport": self.transport, "base_url": self.base_url, "model": self.model, "params": self.params}

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
            "identity": self.identity,
            "credential": self.credential_id,
            "price": {
                "input_usd": price(self.input_price_usd),
                "cached_usd": price(self.cached_price_usd),
                "output_usd": price(self.output_price_usd),
                "free": self.free,
            },
            "timeouts": {
                "connect_s": self.connect_timeout_s,
                "first_token_s": self.first_token_timeout_s,
                "between_tokens_s": self.between_tokens_timeout_s,
                "whole_s": self.whole_timeout_s,
            },
        }


class Worker(CalledModel):
    """A language model in the pool."""

    strengths = models.TextField(blank=True, help_text="shown to the conductor where names are revealed")
    context_window = models.PositiveIntegerField(null=True, blank=True)
    embeds = models.BooleanField(
        "embedding model", default=False, help_text="turns texts into vectors for planners that learn; is given no step"
    )


class Conductor(CalledModel):
    """A model that writes workflows."""

    class Encoding(models.TextChoices):
        LISTS = "lists", "three lists"
        JSON = "json", "JSON schema"

    class Examples(models.TextChoices):
        """The sets of worked examples of `apps.conductor`, kept equal to them by a test."""

        GENERAL = "general", "four of varied shape"
        NONE = "none", "none"

    adapter = models.CharField(
        max_length=300, blank=True, help_text="a LoRA adapter the endpoint serves, asked for in the model's place"
    )
    encoding = models.CharField(max_length=10, choices=Encoding, default=Encoding.LISTS)
    attempts = models.PositiveSmallIntegerField(default=3, help_text="how often an invalid plan is asked for again")
    seed = models.PositiveIntegerField(
        null=True, blank=True, help_text="empty: of each run its own, so that planning again plans anew"
    )
    max_steps = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="empty: as the profile says"
    )
    reveal_names = models.BooleanField(default=False, help_text="show the conductor names and strengths")
    examples = models.CharField(max_length=20, choices=Examples, default=Examples.GENERAL)
    prompt_version = models.CharField(max_length=10, default="1")

    @property
    def identity(self) -> dict[str, Any]:
        return super().identity | {"model": self.adapter or self.model}

    def freeze(self) -> dict[str, Any]:
        return super().freeze() | {
            "encoding": self.encoding,
            "attempts": self.attempts,
            "seed": self.seed,
            "max_steps": self.max_steps,
            "reveal_names": self.reveal_names,
            "examples": self.examples,
            "prompt_version": self.prompt_version,
        }


class Profile(models.Model):
    """Planner, pool and limits under a name."""

    class Planner(models.TextChoices):
        """The planners of `apps.conductor`, kept equal to them by a test: this app lies beneath that one."""

        CONDUCTOR = "conductor", "conductor: a model writes the workflow"
        DIRECT = "direct", "direct: one worker answers the task"
        RANDOM = "random", "random: any worker of the pool answers"
        SELF_CONSISTENCY = "self-consistency", "self-consistency: one worker answers often, the majority wins"
        SELF_REFLECTION = "self-reflection", "self-reflection: one worker improves its own answer"
        MIXTURE = "moa", "mixture of agents: every worker answers, one of them sums up"
        ROUTER_DC = "routerdc", "RouterDC: the worker a learnt router chooses answers"
        SMOOTHIE = "smoothie", "Smoothie: every worker answers, the answer nearest to the others wins"
        MAS_ROUTER = "masrouter", "MASRouter: a learnt router chooses workers, roles and how they work together"
        TRINITY = "trinity", "TRINITY: a model chooses turn by turn who thinks, works and verifies"
        UNTRAINED = "untrained", "untrained: a worker of the pool writes the workflow"

    # Those that ask the profile's conductor; all others plan without one.
    CONDUCTED = (Planner.CONDUCTOR, Planner.TRINITY)

    slug = models.CharField(max_length=63, unique=True, validators=[slug_rule])
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=200, blank=True)
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True)
    planner = models.CharField(max_length=40, choices=Planner, default=Planner.CONDUCTOR)
    conductor = models.ForeignKey(Conductor, models.PROTECT, null=True, blank=True)
    options = models.JSONField(
        default=dict, blank=True, help_text='the planner\'s own options, such as {"n": 5}; its page lists them'
    )
    workers = models.ManyToManyField(
        Worker,
        blank=True,
        help_text="none chosen: every enabled worker. With the planner “direct” the first by its short name answers: "
        "choose one, and a worker added later does not take its place.",
    )
    pool_size = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="so many of the workers, others in every run and in any order; empty: all of them",
    )
    max_steps = models.PositiveSmallIntegerField(default=5, validators=[MinValueValidator(1)])
    rounds = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(5)],
        help_text="after each but the last the conductor sees the answer, and keeps its workflow or writes another",
    )
    nesting = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(3)],
        help_text="how deep a step may be given to the conductor itself, which writes a workflow of its own for it",
    )
    fallback = models.CharField(
        "when planning fails",
        max_length=40,
        choices=Planner,
        blank=True,
        help_text="who plans when the planner is down or writes nothing valid; empty: the run fails and says why",
    )
    fallback_conductor = models.ForeignKey(
        Conductor, models.PROTECT, null=True, blank=True, related_name="stands_in_for"
    )
    tries = models.PositiveSmallIntegerField(default=3, help_text="calls of one worker for one step, at most")
    review = models.BooleanField("review before running", default=False)
    enabled = models.BooleanField(default=True)
    away = models.BooleanField(default=False, editable=False)  # as a worker is
    version = models.PositiveIntegerField(default=1, editable=False)
    position = models.PositiveSmallIntegerField(default=None, help_text="the lowest is offered first")

    objects = Scoped.as_manager()

    class Meta:
        ordering = ["position", "slug"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.position is None:  # behind all others: the first profile is what people find chosen
            last: int | None = Profile.objects.aggregate(last=Max("position"))["last"]
            self.position = 0 if last is None else last + 1
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """What the fields do not say alone: who asks a conductor has one, and options are options."""
        wrong = {}
        if self.planner in self.CONDUCTED and self.conductor is None:
            wrong["conductor"] = f"The planner “{self.planner}” asks a conductor: choose one."
        if self.fallback in self.CONDUCTED and self.fallback_conductor is None:
            wrong["fallback_conductor"] = f"The planner “{self.fallback}” asks a conductor: choose one."
        if self.nesting and self.conductor is None:
            wrong["nesting"] = "A step can be given to the conductor itself only where there is one: choose one."
        if not isinstance(self.options, dict):
            wrong["options"] = 'Give the options by name, such as {"n": 5}.'
        if wrong:
            raise ValidationError(wrong)

    def pool(self, user: User) -> list[Worker]:
        """The workers this profile offers `user`, in the order the conductor numbers them."""
        chosen = Worker.objects.visible_to(user).enabled().filter(embeds=False)
        if self.pk and self.workers.exists():
            chosen = chosen.filter(profile=self)
        return list(chosen.order_by("slug"))


class Health(models.Model):
    """What the last look at a conductor's endpoint found: free of charge, it only lists its models."""

    conductor = models.OneToOneField(Conductor, models.CASCADE, related_name="health")
    at = models.DateTimeField()
    since = models.DateTimeField()  # that it has been so
    is_up = models.BooleanField()
    latency_ms = models.FloatField(null=True)
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.conductor.slug}: {'up' if self.is_up else 'down'}"
