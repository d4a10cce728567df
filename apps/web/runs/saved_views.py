"""What people do with their saved views of the list of runs: plain forms that lead back to the list."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.core.errors import StudioError
from apps.runs import saved_views
from apps.web.access import person
from apps.web.runs.page import url_of


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Keep the filter `q` under a `name`; the list shows it, or says why not."""
    text = request.POST.get("q", "")
    try:
        view = saved_views.save_view(
            name=request.POST.get("name", ""), text=text, by=person(request), now=timezone.now()
        )
    except StudioError as refusal:
        messages.error(request, refusal.message)
        return redirect(url_of(text))
    return redirect(url_of(view.text))


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename a view, or with `action=delete` forget it."""
    user, now = person(request), timezone.now()
    view = saved_views.view_of(user, pk)
    text = view.text
    try:
        if request.POST.get("action") == "delete":
            saved_views.delete_view(view=view, by=user, now=now)
        else:
            saved_views.change_view(view=view, name=request.POST.get("name", ""), by=user, now=now)
    except StudioError as refusal:
        messages.error(request, refusal.message)
    return redirect(url_of(text))


urls: list[URLPattern] = [
    path("runs/views/", save, name="views"),
    path("runs/views/<int:pk>/", change, name="view"),
]
