"""Finds every service: a public function that is told `by` whom it is done."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import apps.accounts
import apps.audit
import apps.conductor
import apps.runs
import apps.spend
import apps.workers
import apps.workflows

APPS = (apps.accounts, apps.audit, apps.conductor, apps.runs, apps.spend, apps.workers, apps.workflows)
NOT_SERVICES = {"migrations", "management", "admin", "models"}


def services() -> dict[str, Callable[..., Any]]:
    """By module and name: `runs.services.submit_run`."""
    return {
        f"{module.__name__.removeprefix('apps.')}.{name}": found
        for module in _modules()
        for name, found in vars(module).items()
        if not name.startswith("_") and inspect.isfunction(found) and found.__module__ == module.__name__
        if "by" in inspect.signature(found).parameters
    }


def _modules() -> Iterator[Any]:
    for app in APPS:
        for info in pkgutil.walk_packages(app.__path__, f"{app.__name__}."):
            if NOT_SERVICES.isdisjoint(info.name.split(".")):
                yield importlib.import_module(info.name)
