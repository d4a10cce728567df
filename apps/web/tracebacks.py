"""Django's pages of errors while somebody develops: where it broke, and never what the variables there held.

A key, a password or a text of somebody's may be in any of them. Django itself hides some, and none at all under DEBUG.
"""

from collections.abc import ItemsView
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class Discreet(SafeExceptionReporterFilter):
    """Hides every variable, and what a form sent under a name that says it is secret."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> ItemsView[str, Any]:
        nothing: dict[str, Any] = {}
        return nothing.items()

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        sent = super().get_post_parameters(request)
        return {name: self.cleanse_setting(name, value) for name, value in sent.items()}
