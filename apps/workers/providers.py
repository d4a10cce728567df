"""Providers that many people have a key of: where they answer, which variables hold the key, which models are current.

A provider that speaks the OpenAI protocol is called over wire, which costs a tenth of the way through litellm. Which of
its models are current is read from the catalogue: a family is a pattern, and of a family the latest version is meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from apps.workers import catalogue
from apps.workers.catalogue import Entry

MOST_OFFERED = 3


@dataclass(frozen=True)
class Provider:
    """Where a provider is reached. `slug` is the catalogue's name; with a `base_url` it speaks the OpenAI protocol."""

    slug: str
    name: str
    variables: Sequence[str]
    base_url: str = ""
    families: Sequence[str] = ()


NUMBER = r"(\d+(?:[.-]\d)?)"

PROVIDERS = (
    Provider(
        "openai",
        "OpenAI",
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1",
        (rf"gpt-{NUMBER}", rf"gpt-{NUMBER}-mini", rf"gpt-{NUMBER}-nano"),
    ),
    Provider(
        "anthropic",
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        families=(rf"claude-opus-{NUMBER}", rf"claude-sonnet-{NUMBER}", rf"claude-haiku-{NUMBER}"),
    ),
    Provider(
        "gemini",
        "Google",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        families=tuple(rf"gemini/gemini-{NUMBER}-{size}" for size in ("pro", "flash", "flash-lite")),
    ),
    Provider(
        "mistral",
        "Mistral",
        ("MISTRAL_API_KEY",),
        "https://api.mistral.ai/v1",
        tuple(f"mistral/mistral-{size}-latest" for size in ("large", "medium", "small")),
    ),
    Provider(
        "deepseek",
        "DeepSeek",
        ("DEEPSEEK_API_KEY",),
        "https://api.deepseek.com/v1",
        (rf"deepseek/deepseek-v{NUMBER}-pro", rf"deepseek/deepseek-v{NUMBER}-flash"),
    ),
    Provider("xai", "xAI", ("XAI_API_KEY",), "https://api.x.ai/v1", (rf"xai/grok-{NUMBER}",)),
    Provider(
        "groq",
        "Groq",
        ("GROQ_API_KEY",),
        "https://api.groq.com/openai/v1",
        ("groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b"),
    ),
    Provider(
        "together_ai",
        "Together",
        ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
        "https://api.together.xyz/v1",
        ("together_ai/openai/gpt-oss-120b", rf"together_ai/zai-org/GLM-{NUMBER}"),
    ),
    Provider(
        "cerebras",
        "Cerebras",
        ("CEREBRAS_API_KEY",),
        "https://api.cerebras.ai/v1",
        ("cerebras/gpt-oss-120b", rf"cerebras/qwen-{NUMBER}-\d+b"),
    ),
    Provider("cohere_chat", "Cohere", ("COHERE_API_KEY",), families=(r"command-r7b-\d+-\d+",)),
    Provider("openrouter", "OpenRouter", ("OPENROUTER_API_KEY",), "https://openrouter.ai/api/v1"),
)


def provider_of(slug: str) -> Provider | None:
    return next((each for each in PROVIDERS if each.slug == slug), None)


def current_models(provider: Provider, *, today: date) -> list[Entry]:
    """The latest model of each of a provider's families, strong ones first; none where the catalogue knows none."""
    found = (latest(family, provider, today=today) for family in provider.families)
    return [entry for entry in found if entry is not None][:MOST_OFFERED]


def latest(family: str, provider: Provider, *, today: date) -> Entry | None:
    """The model of a family with the highest version."""
    pattern = re.compile(family)
    matching = [
        (version_of(match), entry)
        for entry in catalogue.entries().values()
        if entry.provider == provider.slug and entry.mode == "chat" and not entry.is_retired(today=today)
        if (match := pattern.fullmatch(entry.model))
    ]
    return max(matching, key=lambda each: each[0])[1] if matching else None


def version_of(match: re.Match[str]) -> tuple[int, ...]:
    """`(5, 4)` for `5.4` and for `5-4`."""
    return tuple(int(number) for group in match.groups() for number in re.split(r"[.-]", group))
