"""The pages of projects: those one belongs to, and one of them with its people, money, profiles and keys."""

from dataclasses import dataclass, field

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import projects
from apps.accounts.models import Membership, Project
from apps.accounts.projects import NoSuchMember
from apps.core.errors import Conflict, Invalid
from apps.web.access import person, visible_project
from apps.web.projects.told import Told, mine

LONGEST_NAME = 150


@dataclass
class Adding:
    """Whom to add, as it was filled in, and what is wrong with it."""

    name: str = ""
    role: str = Membership.Role.ANALYST
    errors: dict[str, str] = field(default_factory=dict)


@require_safe
def listed(request: HttpRequest) -> HttpResponse:
    """The projects one belongs to, and which of them one works in."""
    return render(request, "projects/list.html", {"mine": mine(person(request), now=timezone.now())})


@require_safe
def project(request: HttpRequest, slug: str) -> HttpResponse:
    """One of them."""
    return _page(request, visible_project(person(request), slug))


@require_POST
def choose(request: HttpRequest, slug: str) -> HttpResponse:
    """Work in this one from now on."""
    user = person(request)
    found = visible_project(user, slug)
    projects.choose_home(project=found, by=user, now=timezone.now())
    messages.success(request, f"What you start belongs to {found.name} from now on, unless you say otherwise.")
    return redirect("projects")


@require_POST
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add somebody by the name they sign in with."""
    user = person(request)
    found = visible_project(user, slug)
    form = Adding(request.POST.get("name", "")[:LONGEST_NAME], request.POST.get("role", ""))
    try:
        member = projects.add_member(project=found, name=form.name, role=form.role, by=user, now=timezone.now())
    except (Invalid, Conflict) as refusal:
        form.errors[refusal.field or "name"] = refusal.message
        return _page(request, found, adding=form, status=422)
    messages.success(request, f"{member.user.label} belongs to {found.name} now, as {member.role}.")
    return redirect("project", found.slug)


@require_POST
def member(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """Give a member another role, or with `action=remove` end the membership."""
    user = person(request)
    found, pk, now = visible_project(user, slug), _number(id), timezone.now()
    try:
        if request.POST.get("action") == "remove":
            gone = projects.remove_member(project=found, member=pk, by=user, now=now)
            messages.success(request, f"{gone.user.label} does not belong to {found.name} any more.")
            if gone.user_id == user.pk:
                return redirect("projects")
        else:
            known = projects.change_role(project=found, member=pk, role=request.POST.get("role", ""), by=user, now=now)
            messages.success(request, f"{known.user.label} is {known.role} in {found.name}.")
    except (Invalid, Conflict) as refusal:
        messages.error(request, refusal.message)
    return redirect("project", found.slug)


@require_POST
@never_cache
def invite(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """A link that signs a member in once: answered with it, the one time that it is seen."""
    user = person(request)
    found, pk = visible_project(user, slug), _number(id)
    token = projects.invite_member(project=found, member=pk, by=user, now=timezone.now())
    address = request.build_absolute_uri(reverse("sign-in-by-link", args=[token]))
    whose = Membership.objects.select_related("user").get(pk=pk)
    return _page(request, found, address=address, whose=whose.user)


def _page(request: HttpRequest, found: Project, *, status: int = 200, **more: object) -> HttpResponse:
    told = Told(found, user=person(request), now=timezone.now())
    context = {"told": told, "project": found, "adding": Adding(), **more}
    return render(request, "projects/page.html", context, status=status)


def _number(given: str) -> int:
    """:raises NoSuchMember: it cannot be one's number."""
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise NoSuchMember
    return int(given)


urls: list[URLPattern] = [
    path("projects/", listed, name="projects"),
    path("projects/<slug>/", project, name="project"),
    path("projects/<slug>/choose/", choose, name="project-choose"),
    path("projects/<slug>/members/", add, name="project-add"),
    path("projects/<slug>/members/<id>/", member, name="project-member"),
    path("projects/<slug>/members/<id>/invite/", invite, name="project-invite"),
]
