"""What a task carries when it is handed in: tags, and attachments, which are text files that become sections of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any

from apps.accounts.models import Project
from apps.core.errors import Invalid
from apps.workers.calls import clean
from apps.workers.models import Tag

MOST_FILES = 10
LONGEST_NAME = 100
MOST_BYTES = 1_000_000  # of one attachment; how many characters a task may have is a setting
FIELD = "attachments"


@dataclass(frozen=True)
class Attachment:
    """A text file that somebody attached, and the tags that it carries."""

    name: str
    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Labels:
    """What a task carries, as a run's setup keeps it: its tags; name, characters and tags of what is attached to it.

    `written` is what the instructions that are given with it carry besides, by the round that a model wrote them in;
    None where no model did.
    """

    tags: tuple[str, ...] = ()
    attachments: tuple[Mapping[str, Any], ...] = ()
    written: Sequence[Sequence[str]] | None = None

    @classmethod
    def of(cls, setup: Mapping[str, Any]) -> "Labels":
        """Those of the task of a run that is there, which has its attachments in it already."""
        return cls(tuple(setup.get("tags", ())), tuple(setup.get("attachments", ())))

    @property
    def as_setup(self) -> dict[str, Any]:
        told: dict[str, Any] = {} if self.written is None else {"told": [list(tags) for tags in self.written]}
        return told | {"tags": sorted(set(self.tags)), "attachments": [dict(each) for each in self.attachments]}

    @property
    def told(self) -> dict[str, Any]:
        """The same as an event holds it: without the names, which people gave."""
        files = [{name: each[name] for name in ("chars", "tags")} for each in self.attachments]
        return {"tags": sorted(set(self.tags)), "attachments": files}

    @property
    def names(self) -> dict[str, str]:
        """The names of the attachments, as texts of an event."""
        return {f"attachment:{number}": each["name"] for number, each in enumerate(self.attachments, start=1)}

    @property
    def all_tags(self) -> frozenset[str]:
        return frozenset(self.tags).union(*(each["tags"] for each in self.attachments))


NO_LABELS = Labels()


def read_attachment(*, name: str, body: bytes, tags: Sequence[str] = ()) -> Attachment:
    """A file as it was sent, read as text.

    :raises Invalid: at `attachments`, naming the file: it is too large, empty, or no text in UTF-8.
    """
    called = _called(name)
    if len(body) > MOST_BYTES:
        raise Invalid(f"“{called}” has {len(body):,} bytes; at most {MOST_BYTES:,} can be attached.", field=FIELD)
    try:
        text = clean(body.decode("utf-8-sig")).replace("\r\n", "\n").strip("\n")
    except UnicodeDecodeError:
        message = f"“{called}” is no text in UTF-8. Attach texts, such as .txt, .md, .csv or .json."
        raise Invalid(message, field=FIELD) from None
    if b"\0" in body:
        raise Invalid(f"“{called}” is no text: there are zero bytes in it.", field=FIELD)
    if not text.strip():
        raise Invalid(f"There is nothing in “{called}”.", field=FIELD)
    return Attachment(called, text, tuple(tags))


def attach(task: str, attachments: Sequence[Attachment], *, tags: Sequence[str] = ()) -> tuple[str, Labels]:
    """The task with its attachments as sections behind it, and what it carries.

    Each stands between marks that occur nowhere in it: no file can close its own section and speak for the person.

    :raises Invalid: at `attachments`, where there are too many.
    """
    if len(attachments) > MOST_FILES:
        raise Invalid(f"At most {MOST_FILES} files can be attached; {len(attachments)} were.", field=FIELD)
    sections = [task.strip(), *(_section(each) for each in attachments)] if task.strip() else [""]
    kept = tuple({"name": each.name, "chars": len(each.text), "tags": sorted(set(each.tags))} for each in attachments)
    return "\n\n".join(sections), Labels(tuple(tags), kept)


def check_tags(labels: Labels, project: Project) -> None:
    """:raises Invalid: at `tags`, where one is not known in the project: no rule could be about it."""
    wanted = labels.all_tags
    if not wanted:
        return
    known = set(Tag.objects.of(project).filter(name__in=wanted).values_list("name", flat=True))
    if missing := sorted(wanted - known):
        message = f"“{missing[0][:40]}” is no tag of {project.name}. Its admins add tags on the page of its rules."
        raise Invalid(message, field="tags")


def _called(name: str) -> str:
    """The file's own name, whatever folders and signs a program put around it."""
    own = clean(name).replace("\\", "/").rpartition("/")[2]
    said = " ".join("".join(sign if sign.isprintable() else " " for sign in own).split())
    return said[:LONGEST_NAME] or "attachment"


def _section(attachment: Attachment) -> str:
    mark = next(mark for mark in _marks(attachment.text) if mark not in attachment.text)
    return f"Attachment “{attachment.name}”, between two lines of {mark}:\n{mark}\n{attachment.text}\n{mark}"


def _marks(text: str) -> Iterator[str]:
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return (f"---{sha256(f'{digest} {number}'.encode()).hexdigest()[:8]}---" for number in count())
