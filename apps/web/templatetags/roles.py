"""What the reader of a page may do with what it shows, as template filters: a button nobody may press is not there.

The services refuse it all the same. Whoever is not signed in, as where a run was shared, may do nothing.
"""

from typing import Any

from django import template

from apps.accounts.models import Project
from apps.accounts.roles import Deed

register = template.Library()


@register.filter
def acts_in(user: Any, thing: Any) -> bool:
    """`{% if request.user|acts_in:run %}`: whether they may start and change things in its project."""
    return _may(user, Deed.ACT, thing)


@register.filter
def audits_in(user: Any, thing: Any) -> bool:
    """Whether they may read the trails of its project, and sign its runs off."""
    return _may(user, Deed.AUDIT, thing)


@register.filter
def audits(user: Any) -> bool:
    """Whether they may read the trails of any project, or run the studio."""
    if not getattr(user, "is_authenticated", False):
        return False
    return user.is_superuser or any(Deed.AUDIT in deeds for deeds in user.deeds.values())


@register.filter
def administers_in(user: Any, thing: Any) -> bool:
    """Whether they may administer its project."""
    return _may(user, Deed.ADMINISTER, thing)


def _may(user: Any, deed: Deed, thing: Any) -> bool:
    """`thing` is a project, or what belongs to one."""
    if not getattr(user, "is_authenticated", False) or not thing:
        return False
    project = thing.pk if isinstance(thing, Project) else thing.project_id
    return deed in user.deeds.get(project, ())
