"""Sharing a run that has ended: the page where its links are made and revoked, and what such a link opens."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.core.errors import Conflict, Invalid, NotFound
from apps.runs.models import Run, Share
from apps.runs.sharing import revoke_share, share_run, shared_by
from apps.web.access import person, visible_run
from apps.web.keeping.replay import Replay, as_file, as_json_script
from apps.web.words.figures import ago

LIFETIMES = {"1": "a day", "7": "a week", "30": "30 days", "": "until it is revoked"}
MOST_LISTED = 100


class NoSuchShare(NotFound):
    """The run has no such link."""

    def __init__(self) -> None:
        super().__init__("This run has no such link.")


@dataclass(frozen=True)
class Line:
    """A link as its run's page lists it."""

    share: Share
    now: datetime

    @property
    def state(self) -> str:
        return self.share.state(now=self.now)

    @property
    def made(self) -> str:
        return ago(self.share.created_at, now=self.now)

    @property
    def opened(self) -> str:
        return ago(self.share.opened_at, now=self.now) if self.share.opened_at else "never"


# --- the run's page of links -----------------------------------------------------------------------------------------


@require_http_methods(["GET", "HEAD", "POST"])
def share(request: HttpRequest, code: str) -> HttpResponse:
    """The links to a run. Making one answers with it: the one time that it is seen."""
    run = visible_run(request.user, code)
    if request.method != "POST":
        return _page(request, run)
    try:
        address = _made(request, run, by=person(request))
    except (Conflict, Invalid) as refusal:
        return _page(request, run, error=refusal.message, status=422)
    return _page(request, run, address=address)


@require_POST
def revoke(request: HttpRequest, code: str, id: str) -> HttpResponse:
    run = visible_run(request.user, code)
    found = run.shares.filter(pk=int(id)).first() if id.isascii() and id.isdigit() and len(id) < 19 else None
    if found is None:
        raise NoSuchShare
    if revoke_share(share=found, by=person(request), now=timezone.now()):
        messages.success(request, f"The link {found.begins}… opens nothing any more.")
    else:
        messages.info(request, f"The link {found.begins}… was revoked before.")
    return redirect("run-share", run.code)


def _made(request: HttpRequest, run: Run, *, by: User) -> str:
    """The address of a new link, as the form asks for it."""
    now = timezone.now()
    given = request.POST.get("expires", "30")
    days = int(given) if given in LIFETIMES and given else None
    expires_at = now + timedelta(days=days) if days else None
    hides_costs = bool(request.POST.get("hide_costs"))
    _, token = share_run(run=run, by=by, now=now, expires_at=expires_at, hides_costs=hides_costs)
    return request.build_absolute_uri(reverse("shared", args=[token]))


def _page(request: HttpRequest, run: Run, *, address: str = "", error: str = "", status: int = 200) -> HttpResponse:
    now = timezone.now()
    links = run.shares.select_related("made_by")[:MOST_LISTED]
    context = {
        "run": run,
        "lines": [Line(link, now) for link in links],
        "lifetimes": LIFETIMES,
        "address": address,
        "error": error,
    }
    response = render(request, "shared/links.html", context, status=status)
    if address:
        response["Cache-Control"] = "no-store"
    return response


# --- what a link opens -----------------------------------------------------------------------------------------------


@login_not_required
@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The run that `token` shares; the same page for a link that was revoked, has expired or never was."""
    replay = _replay(token)
    if replay is None:
        return _closed(render(request, "shared/gone.html", status=404))
    file_url = reverse("shared-replay", args=[token])
    context = {"replay": replay, "standing": replay.standing, "file_url": file_url}
    context["record"] = as_json_script(replay.data)
    return _closed(render(request, "shared/page.html", context))


@login_not_required
@require_safe
def shared_file(request: HttpRequest, token: str) -> HttpResponse:
    """The same as a file that replays offline."""
    replay = _replay(token)
    if replay is None:
        return _closed(render(request, "shared/gone.html", status=404))
    return _closed(as_download(as_file(replay), name="conductor-run.html", kind="text/html"))


def _replay(token: str) -> Replay | None:
    now = timezone.now()
    link = shared_by(token=token, now=now)
    if link is None:
        return None
    return Replay(link.run, now=now, with_costs=not link.hides_costs, with_errors=False)


def _closed(response: HttpResponse) -> HttpResponse:
    """Kept by nobody, found by no search engine; and where a link leads on, its address is not told."""
    response["Cache-Control"] = "no-store"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Referrer-Policy"] = "no-referrer"
    return response


def as_download(text: str, *, name: str, kind: str) -> HttpResponse:
    """`text` as a file to be saved, never shown as a page of the studio."""
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name)}"
    response["X-Content-Type-Options"] = "nosniff"
    return response


urls: list[URLPattern] = [
    path("runs/<code>/share/", share, name="run-share"),
    path("runs/<code>/share/<id>/revoke/", revoke, name="run-share-revoke"),
    path("shared/<token>/", shared, name="shared"),
    path("shared/<token>/replay/", shared_file, name="shared-replay"),
]
