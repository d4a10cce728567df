"""What a task carries, as its form says: tags, and text files that are attached."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.http import HttpRequest, QueryDict

from apps.accounts.models import Project
from apps.core.errors import Invalid
from apps.runs.labels import FIELD, MOST_BYTES, MOST_FILES, Attachment, Labels, attach, read_attachment
from apps.workers.models import FlowRule, Tag

MOST_TAGS = 200
AGAIN = "Attach the files again: a page cannot keep them."


@dataclass
class Carries:
    """The part of the form that says what the task carries."""

    tags: tuple[str, ...] = ()
    file_tags: tuple[str, ...] = ()  # of all that is attached
    files: tuple[Attachment, ...] = ()
    error: str = ""  # of the files

    @classmethod
    def of(cls, request: HttpRequest) -> "Carries":
        posted = request.POST
        made = cls(tags_in(posted, "tags"), tags_in(posted, "file_tags"))
        try:
            made.files = read_files(request.FILES.getlist(FIELD), tags=made.file_tags)
        except Invalid as refusal:
            made.error = refusal.message
        return made

    def attached_to(self, task: str) -> tuple[str, Labels]:
        """The whole task, and what it carries. :raises Invalid: a file cannot be attached."""
        if self.error:
            raise Invalid(self.error, field=FIELD)
        return attach(task, self.files, tags=self.tags)

    @property
    def written(self) -> str:
        """All of it in a word, for the key that makes it one run; nothing where it carries nothing."""
        said = [*self.tags, "", *self.file_tags, *(f"{each.name}\0{each.text}" for each in self.files)]
        return sha256("\0".join(said).encode(errors="surrogatepass")).hexdigest() if any(said) else ""

    @property
    def is_open(self) -> bool:
        """Whether the fold with it is to be open."""
        return bool(self.tags or self.file_tags or self.files or self.error)


def read_files(files: Sequence[Any], *, tags: Sequence[str]) -> tuple[Attachment, ...]:
    """What was uploaded, as texts. :raises Invalid: naming the first that cannot be attached."""
    if len(files) > MOST_FILES:
        raise Invalid(f"At most {MOST_FILES} files can be attached; {len(files)} were.", field=FIELD)
    return tuple(read_attachment(name=file.name or "", body=file.read(MOST_BYTES + 1), tags=tags) for file in files)


def tags_offered(project: Project | None) -> list[Tag]:
    """The tags that a task of `project` may carry, one for each name; none that rules only ask of models."""
    if project is None:
        return []
    found = {tag.name: tag for tag in reversed(Tag.objects.of(project)[:MOST_TAGS])}
    pairs = list(FlowRule.objects.of(project)[:MOST_TAGS].values_list("carries", "needs"))
    of_models = {needs for _, needs in pairs} - {carries for carries, _ in pairs}
    return sorted((tag for tag in found.values() if tag.name not in of_models), key=lambda tag: tag.name)


def tags_in(posted: QueryDict, name: str) -> tuple[str, ...]:
    """The tags that were ticked in the field called `name`."""
    return tuple(dict.fromkeys(each[:40] for each in posted.getlist(name)))[:MOST_TAGS]
