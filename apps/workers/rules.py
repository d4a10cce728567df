"""What admins of a project do with its flow rules and tags: each is one transaction that leaves its event."""

from datetime import datetime

from django.db import IntegrityError, transaction

from apps.accounts.models import Project, User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit import log
from apps.audit.log import JSON, Entry
from apps.core.errors import Conflict, Invalid
from apps.workers.calls import clean
from apps.workers.models import FlowRule, Tag
from apps.workers.models.flow import TAG

STUDIO_TRAIL = "rules"  # of the rules and tags of the whole studio
MOST = 100  # tags, and rules, of one project
LONGEST_WORDS = 200


class MadeAlready(Conflict):
    """The very same rule, or a tag of this name, is there."""


class ChangedSince(Conflict):
    """Somebody has changed the rule since its form was opened."""


@transaction.atomic
def add_tag(*, project: Project, name: str, by: User, now: datetime, words: str = "") -> Tag:
    """Have a tag in a project that its tasks, attachments and models may carry.

    :raises NotAllowed: only its admins may. :raises Invalid: at `name` or `words`. :raises MadeAlready:
    """
    check_may(by, Deed.ADMINISTER, project)
    name, words = clean_tag(name, field="name"), clean_words(words)
    _check_room(Tag.objects.filter(project=project).count(), "tags")
    if Tag.objects.of(project).filter(name=name).exists():
        raise MadeAlready(f"There is a tag “{name}” already.", field="name")
    tag = Tag(project=project, name=name, words=words, created_at=now)
    _save(tag, MadeAlready(f"There is a tag “{name}” already.", field="name"))
    _leave(project, Entry("tag.added", {"tag": name}, {"words": words} if words else {}), f"tag:{name}", by, now)
    return tag


@transaction.atomic
def add_rule(*, project: Project, carries: str, needs: str, by: User, now: datetime, words: str = "") -> FlowRule:
    """Let what carries one tag be read only by models that have another, in a project and from now on.

    :raises NotAllowed: only its admins may. :raises Invalid: at the field at fault. :raises MadeAlready:
    """
    check_may(by, Deed.ADMINISTER, project)
    given = _checked(project, carries=carries, needs=needs, words=words)
    _check_room(FlowRule.objects.filter(project=project).count(), "rules")
    rule = FlowRule(project=project, created_at=now, **given)
    _save(rule, _made_already(rule))
    _leave(project, _entry("rule.added", rule), f"rule:{rule.pk}", by, now)
    return rule


@transaction.atomic
def change_rule(
    *, rule: FlowRule, seen: int, carries: str, needs: str, words: str, enabled: bool, by: User, now: datetime
) -> FlowRule:
    """Have a rule of a project say something else, or switch it off and on again.

    :raises NotAllowed: only its admins may. :raises Invalid: at the field at fault. :raises MadeAlready:
    :raises ChangedSince: it is not the version `seen`.
    """
    locked: FlowRule = FlowRule.objects.select_for_update(of=("self",)).select_related("project").get(pk=rule.pk)
    assert locked.project is not None, "the studio's rules are changed in the admin pages"
    check_may(by, Deed.ADMINISTER, locked.project)
    if locked.version != seen:
        raise ChangedSince("Somebody has changed this rule since you opened it. Look at it as it is now.")
    new = _checked(locked.project, carries=carries, needs=needs, words=words) | {"enabled": enabled}
    was = {name: getattr(locked, name) for name in new}
    changed = [name for name in new if new[name] != was[name]]
    if not changed:
        return locked
    for name in changed:
        setattr(locked, name, new[name])
    locked.version += 1
    _save(locked, _made_already(locked))
    before = {name: was[name] for name in changed if name != "words"}
    _leave(locked.project, _entry("rule.changed", locked, before=before), f"rule:{locked.pk}", by, now)
    return locked


def clean_tag(name: str, *, field: str) -> str:
    """:raises Invalid: at `field`, where it is no name for a tag."""
    said = clean(name).strip()
    if not TAG.fullmatch(said):
        message = "Name the tag with lower-case letters, digits and dashes, at most 40, such as client-confidential."
        raise Invalid(message, field=field)
    return said


def clean_words(words: str) -> str:
    """:raises Invalid: they are too long."""
    said = " ".join(clean(words).split())
    if len(said) > LONGEST_WORDS:
        raise Invalid(f"Say it in at most {LONGEST_WORDS} characters.", field="words")
    return said


def trail_of(project: Project) -> str:
    """The trail in which a project's rules and tags leave their events."""
    return f"{STUDIO_TRAIL}:{project.slug}"


def _checked(project: Project, *, carries: str, needs: str, words: str) -> dict[str, str]:
    known = set(Tag.objects.of(project).values_list("name", flat=True))
    given = {"carries": clean_tag(carries, field="carries"), "needs": clean_tag(needs, field="needs")}
    for field, name in given.items():
        if name not in known:
            raise Invalid(f"“{name}” is no tag of {project.name} yet. Add it first.", field=field)
    return given | {"words": clean_words(words)}


def _check_room(count: int, what: str) -> None:
    if count >= MOST:
        raise Invalid(f"A project has at most {MOST} {what}.")


def _made_already(rule: FlowRule) -> MadeAlready:
    return MadeAlready(f"There is a rule already that {rule}. It may be switched off.", field="carries")


def _save(row: Tag | FlowRule, taken: MadeAlready) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise taken from None


def _entry(verb: str, rule: FlowRule, **data: JSON) -> Entry:
    told: dict[str, JSON] = {"rule": rule.pk, "carries": rule.carries, "needs": rule.needs, "enabled": rule.enabled}
    return Entry(verb, {**told, "version": rule.version, **data}, {"words": rule.words} if rule.words else {})


def _leave(project: Project, entry: Entry, subject: str, by: User, now: datetime) -> None:
    log.append(trail_of(project), [entry], by=by.actor, at=now, subject=subject, project=project.slug)
