"""What the admin pages of workers, conductors and profiles share."""

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from apps.accounts.changes import Values
from apps.accounts.models import User
from apps.accounts.trailed import Trailed
from apps.workers.calls import SECRETS
from apps.workers.services import TRAIL

SECRETIVE = re.compile(r"(?i)key|token$|secret|password|authorization")


class PoolAdmin(Trailed):
    """What can be switched on and off, by an admin or by a start without the simulator."""

    trail = TRAIL
    untold = {"away"}

    def told(self, values: Values) -> Values:
        return {name: concealed(value) for name, value in super().told(values).items()}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if "enabled" in form.changed_data:
            obj.away = False  # a person has decided: no start switches it on again
        super().save_model(request, obj, form, change)


def concealed(value: Any) -> Any:
    """A value without what looks like a key in it: parameters and old addresses may hold one."""
    if isinstance(value, Mapping):
        return {
            name: "[removed]" if SECRETIVE.search(name) and isinstance(inner, str) else concealed(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [concealed(inner) for inner in value]
    return SECRETS.sub("[removed]", value) if isinstance(value, str) else value


def person_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "nobody else comes to the admin pages"
    return request.user
