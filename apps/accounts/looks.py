"""The classes that admin pages are made of: django-unfold's, under the types of Django's, which they are."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # unfold carries no types, and Django's are generic to the type checker alone
    from django.contrib.admin import ModelAdmin as _ModelAdmin
    from django.contrib.admin import TabularInline as _TabularInline
    from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm, UserChangeForm
    from django.forms import CheckboxSelectMultiple, PasswordInput, Select, Textarea, TextInput

    ModelAdmin = _ModelAdmin[Any]
    TabularInline = _TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin, TabularInline
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm
    from unfold.forms import UserCreationForm as AdminUserCreationForm
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

__all__ = [
    "AdminPasswordChangeForm",
    "AdminUserCreationForm",
    "CheckboxSelectMultiple",
    "ModelAdmin",
    "PasswordInput",
    "Select",
    "TabularInline",
    "TextInput",
    "Textarea",
    "UserChangeForm",
]
