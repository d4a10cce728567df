"""People and projects in Django's admin. Every change there is an event in the trail of the accounts."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.models import Membership, Project, User
from apps.accounts.services import TRAIL, note_password_change
from apps.accounts.trailed import Trailed
from apps.audit.log import JSON

if TYPE_CHECKING:  # generic to the type checker, plain classes when they run
    MembershipInline = admin.TabularInline[Membership, Any]
    UserAdmin = auth_admin.UserAdmin[User]
else:
    MembershipInline = admin.TabularInline
    UserAdmin = auth_admin.UserAdmin


class Memberships(MembershipInline):
    model = Membership
    extra = 0


@admin.register(User)
class PersonAdmin(Trailed, UserAdmin):
    trail, noun, made = TRAIL, "person", "created"
    secret = {"password": "password"}
    untold = {"last_login"}
    fieldsets = (*(UserAdmin.fieldsets or ()), (None, {"fields": ("home_project",)}))
    inlines = (Memberships,)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Django's page, which saves a password by itself: looked at from outside to tell of it."""
        with transaction.atomic():
            before = self.get_object(request, unquote(id))
            response = super().user_change_password(request, id, form_url)
            after = before and User.objects.get(pk=before.pk)
            if before and after and after.password != before.password:
                assert isinstance(request.user, User), "nobody else comes to the admin pages"
                note_password_change(user=after, by=request.user.actor, now=timezone.now())
        return response


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(Trailed, auth_admin.GroupAdmin):
    """What the people of a group may do in these pages."""

    trail, noun = TRAIL, "group"


@admin.register(Project)
class ProjectAdmin(Trailed):
    trail, noun = TRAIL, "project"
    list_display = ("name", "slug", "created_at")
    inlines = (Memberships,)


@admin.register(Membership)
class MembershipAdmin(Trailed):
    trail, noun = TRAIL, "membership"
    list_display = ("user", "project", "role")
    list_filter = ("project", "role")

    def facts(self, row: Membership) -> dict[str, JSON]:
        return {"membership": row.pk, "person": row.user_id, "project": row.project.slug, "role": row.role}

    def subject(self, row: Membership) -> str:
        return f"person:{row.user_id}"
