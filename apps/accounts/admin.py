"""People and projects in Django's admin."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin

from apps.accounts.models import Membership, Project, User

if TYPE_CHECKING:  # generic to the type checker, plain classes when they run
    MembershipInline = admin.TabularInline[Membership, Any]
    UserAdmin = auth_admin.UserAdmin[User]
    ProjectModelAdmin = admin.ModelAdmin[Project]
    MembershipModelAdmin = admin.ModelAdmin[Membership]
else:
    MembershipInline = admin.TabularInline
    UserAdmin = auth_admin.UserAdmin
    ProjectModelAdmin = MembershipModelAdmin = admin.ModelAdmin


class Memberships(MembershipInline):
    model = Membership
    extra = 0


@admin.register(User)
class PersonAdmin(UserAdmin):
    fieldsets = (*(UserAdmin.fieldsets or ()), (None, {"fields": ("home_project",)}))
    inlines = (Memberships,)


@admin.register(Project)
class ProjectAdmin(ProjectModelAdmin):
    list_display = ("name", "slug", "created_at")
    inlines = (Memberships,)


@admin.register(Membership)
class MembershipAdmin(MembershipModelAdmin):
    list_display = ("user", "project", "role")
    list_filter = ("project", "role")
