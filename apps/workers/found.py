"""Providers' keys that are in the environment, offered as workers that have only to be agreed to.

Which variables hold one is known here; the settings read them. A key itself goes only into its sealed credential.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.conf import settings

from apps.workers.catalogue import Entry
from apps.workers.models import Credential
from apps.workers.providers import PROVIDERS, Provider, current_models


@dataclass(frozen=True)
class Found:
    """That a variable, or the file that `<variable>_FILE` names, holds a key of a provider."""

    variable: str
    provider: Provider
    models: Sequence[Entry]

    def key(self) -> str:
        """The key, for whoever seals it. Empty where it has gone since."""
        read: str = settings.READ_PROVIDER_KEY(self.variable) or ""
        return read.strip()


def keys_not_taken(*, today: date) -> list[Found]:
    """The keys that are there and that no credential was made from yet, one for each provider."""
    taken = set(Credential.objects.exclude(found_in="").values_list("found_in", flat=True))
    offered = []
    for provider in PROVIDERS:
        variable = next((name for name in provider.variables if settings.READ_PROVIDER_KEY(name)), None)
        if variable is not None and not taken.intersection(provider.variables):
            offered.append(Found(variable, provider, current_models(provider, today=today)))
    return offered
