"""People and projects in Django's admin. Every change there is an event in the trail of the accounts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

# From where allauth registers them, so that it has.
from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.admin import UserSession
from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.consequences import Consequence
from apps.accounts.keys_admin import ApiKeyAdmin
from apps.accounts.looks import AdminPasswordChangeForm, AdminUserCreationForm, UserChangeForm
from apps.accounts.memberships_admin import MembershipAdmin, Memberships, last_of
from apps.accounts.models import Membership, Project, User
from apps.accounts.services import TRAIL, note_password_change
from apps.accounts.trailed import Trailed
from apps.accounts.ways_in_admin import WaysIn
from apps.audit.models import Event, Trail

if TYPE_CHECKING:  # generic to the type checker, a plain class when it runs
    UserAdmin = auth_admin.UserAdmin[User]
else:
    UserAdmin = auth_admin.UserAdmin

__all__ = ["ApiKeyAdmin", "GroupAdmin", "MembershipAdmin", "PersonAdmin", "ProjectAdmin"]


@admin.register(User)
class PersonAdmin(WaysIn, Trailed, UserAdmin):
    trail, noun, made = TRAIL, "person", "created"
    form = UserChangeForm
    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    secret = {"password": "password"}
    untold = {"last_login"}
    list_display = ("username", "name", "email", "is_staff", "is_active", "last_login")
    list_filter = ("is_active", "is_staff", "memberships__project")
    fieldsets = (
        (None, {"fields": ("username", "password", "home_project")}),
        ("Who it is", {"fields": (("first_name", "last_name"), "email")}),
        (
            "What they may do here",
            {
                "fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions"),
                "description": "What somebody sees of the studio follows from the memberships below.",
            },
        ),
        ("When", {"fields": (("last_login", "date_joined"),), "classes": ("collapse",)}),
    )
    add_fieldsets = UserAdmin.add_fieldsets  # which unfold's empty ones would hide
    readonly_fields = ("last_login",)
    words = {
        "accounts.membership": "{n} will end",
        "accounts.apikey": "{n} will stop working at once, and programs that use them with it",
        "accounts.signinlink": "{n} will no longer work",
        "usersessions.usersession": "{n} will end",
        "mfa.authenticator": "{n} will go",
        "socialaccount.socialaccount": "{n} will no longer open anything",
        "account.emailaddress": "{n} will go",
        "runs.run": "They have {n}, and runs are kept",
    }
    stays = "What they did stays in the trails, under their name"
    instead = "Take “Active” away: they can no longer sign in, and everything they made stays theirs."
    inlines = (Memberships,)

    def forbidding(self, rows: Sequence[User]) -> list[Consequence]:
        return last_of(Membership.objects.filter(user__in=rows))

    @admin.display(description="name")
    def name(self, person: User) -> str:
        return person.get_full_name() or "–"

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Django's page, which saves a password by itself: looked at from outside to tell of it."""
        self.check_may_open(request)
        with transaction.atomic():
            before = self.get_object(request, unquote(id))
            response = super().user_change_password(request, id, form_url)
            after = before and User.objects.get(pk=before.pk)
            if before and after and after.password != before.password:
                assert isinstance(request.user, User), "nobody else comes to the admin pages"
                note_password_change(user=after, by=request.user.actor, now=timezone.now())
        return response


admin.site.unregister(Group)
# What allauth keeps is changed on the account page and by `WaysIn`, where it leaves events; here it would leave none.
for its in (EmailAddress, Authenticator, UserSession, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(its)


@admin.register(Group)
class GroupAdmin(Trailed, auth_admin.GroupAdmin):
    """What the people of a group may do in these pages."""

    trail, noun = TRAIL, "group"


class ProjectForm(forms.ModelForm[Project]):
    def clean_slug(self) -> str:
        """Events name their project by its slug, for good: under another project's its auditors would read them."""
        slug: str = self.cleaned_data["slug"]
        if Event.objects.filter(project=slug).exists() or Trail.objects.filter(project=slug).exists():
            raise forms.ValidationError("A project has or had this slug, and its events keep it. Choose another.")
        return slug


@admin.register(Project)
class ProjectAdmin(Trailed):
    trail, noun = TRAIL, "project"
    form = ProjectForm
    list_display = ("name", "slug", "created_at")
    fields = ("name", "slug")
    words = {
        "accounts.membership": "{n} will end",
        "accounts.apikey": "{n} will stop working at once, and programs that use them with it",
        "runs.run": "It has {n}, and runs are kept",
        "workers.worker": "Its own {n} will go with it",
        "workers.conductor": "Its own {n} will go with it",
        "workers.credential": "Its own {n} will go with it, and the keys in them",
        "workers.profile": "Its own {n} will go with it",
    }
    stays = "What happened in it stays in the trails"
    inlines = (Memberships,)

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> tuple[str, ...]:
        return ("slug",) if obj else ()

    def project_of(self, row: Project) -> str:
        return row.slug

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        if not change:
            obj.created_at = timezone.now()
        super().save_model(request, obj, form, change)
