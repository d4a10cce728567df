"""Refuses what a person's role in a project does not allow, in words for that person."""

from collections.abc import Mapping

from apps.accounts.models import Membership, Project, User
from apps.accounts.roles import Deed
from apps.core.errors import Denied

NEEDS: Mapping[Deed, str] = {
    Deed.SEE: "see what is in it",
    Deed.ACT: "start runs and change things in it",
    Deed.AUDIT: "read its trails and sign runs off",
    Deed.ADMINISTER: "administer it",
}


class NotAllowed(Denied):
    """The person's role in the project does not go so far."""

    def __init__(self, project: Project, deed: Deed, role: str | None) -> None:
        whose = f"As {_with_article(role)} you may not" if role else "You do not belong to it, so you may not"
        super().__init__(f"{project.name}: {whose} {NEEDS[deed]}. An admin of the project can give you another role.")


def may(user: User, deed: Deed, project: Project) -> bool:
    """Whether `user` may do `deed` in `project`."""
    return Project.objects.where(user, deed).filter(pk=project.pk).exists()


def check_may(user: User, deed: Deed, project: Project) -> None:
    """Go on only if `user` may do `deed` in `project`.

    :raises NotAllowed: where they may not.
    """
    if not may(user, deed, project):
        role = Membership.objects.filter(user=user, project=project).values_list("role", flat=True).first()
        raise NotAllowed(project, deed, role)


def _with_article(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
