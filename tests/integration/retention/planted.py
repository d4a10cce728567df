"""A word that is planted wherever a run can hold one, and the search for it in everything that is stored."""

from datetime import datetime, timedelta
from decimal import Decimal

import redis
from django.db import connection

from apps.accounts.models import User
from apps.audit.searching import keep_words
from apps.runs import services
from apps.runs.drafts import Hold, save_draft
from apps.runs.experiments import start_experiment
from apps.runs.live import draft_key_of, key_of
from apps.runs.models import Attempt, Proposal, Run
from apps.runs.sharing import share_run
from apps.spend.models import Account
from apps.spend.services import raise_limit
from tests.factories import NOON, Driving, chain, failure, make_run
from tests.integration.web.given import nest, nesting_profile

WORD = "Quokkasalt"
LATER = NOON + timedelta(days=40)

TEXTUAL = ("text", "character varying", "character", "json", "jsonb", "tsvector", "ARRAY", "bytea")


def where_is(word: str = WORD) -> set[str]:
    """Every `table.column` of the database that holds the word, in whatever case."""
    return {f"{table}.{column}" for table, column in _columns() if _holds(table, column, word)}


def _columns() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND data_type = ANY(%s)",
            [list(TEXTUAL)],
        )
        return [(table, column) for table, column in cursor.fetchall()]


def _holds(table: str, column: str, word: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}"::text ILIKE %s)', [f"%{word}%"])
        return bool(cursor.fetchone()[0])


def keys_with(client: "redis.Redis", word: str = WORD) -> set[str]:
    """Every key of Redis whose value, of whatever kind, holds the word."""
    wanted = word.lower().encode()
    keys: list[bytes] = list(client.scan_iter())
    return {key.decode() for key in keys if wanted in _dumped(client, key).lower()}


def _dumped(client: "redis.Redis", key: bytes) -> bytes:
    kind = client.type(key)
    read = {
        "string": lambda: client.get(key),
        "hash": lambda: client.hgetall(key),
        "list": lambda: client.lrange(key, 0, -1),
        "set": lambda: client.smembers(key),
        "zset": lambda: client.zrange(key, 0, -1),
    }
    return repr(read[kind if isinstance(kind, str) else kind.decode()]()).encode()


def planted_run(by: User, *, now: datetime = NOON, share: bool = True) -> Run:
    """A run of which everything that anybody wrote holds the word: it was edited, raised, tried and shared."""
    driving = Driving(make_run(by=by, task=f"Compare the {WORD} of North and South.", now=now, limit_usd=Decimal(1)))
    driving.misplan(f"model_id = {WORD}", problems=[f"{WORD} names no worker"], repairs=[f"{WORD} was mended"])
    workflow = chain(f"Weigh the {WORD}", f"Write of {WORD}")
    driving.plan(workflow, raw=f"subtasks = ['{WORD}']", repairs=[f"quotes of {WORD} were read"])
    driving.fail("s1", failure(f"cannot weigh {WORD}", partial=f"half a {WORD}"), retry_in_s=1.0)
    run = driving.carry({"s1": f"{WORD}: 4", "s2": f"The **{WORD}** of South is more."})
    Run.objects.filter(pk=run.pk).update(notice=f"{WORD} was noticed", answer_detail={"counts": {WORD: ["s2"]}})
    _write_beside(run, by=by, now=now + timedelta(minutes=1), share=share)
    while keep_words():  # as a driver does, a few seconds later
        continue
    return Run.objects.get(pk=run.pk)


def nested_run(by: User) -> tuple[Run, Run]:
    """A run of one step that became a run of its own, both over."""
    run = make_run(by=by, task=f"Compare {WORD}", profile=nesting_profile())
    conductor = next(worker["slug"] for worker in run.setup["pool"] if worker.get("conducts"))
    outer = Driving(run)
    outer.plan(chain(f"Plan for {WORD}", worker=conductor))
    inner = nest(outer, "s1")
    inner.plan(chain(f"Weigh {WORD}"))
    nested = inner.carry({"s1": f"{WORD} weighs 4"})
    outer.answer("s1", run.attempts.get(), f"{WORD} weighs 4")
    return outer.succeed(f"{WORD} weighs 4", step="s1"), nested


def _write_beside(run: Run, *, by: User, now: datetime, share: bool) -> None:
    save_draft(run=run, body=f'{{"steps": "{WORD}"}}', hold=Hold(editor="e1"), by=by, now=now)
    account = Account.objects.get(key=f"run:{run.code}")
    raise_limit(account=account, to=Decimal(9), by=by.actor, reason=f"{WORD} is dear", now=now)
    if share:
        share_run(run=run, by=by, now=now)


def written_live(client: "redis.Redis", run: Run) -> None:
    """As if it had been written this moment: its texts are in Redis still."""
    for attempt in Attempt.objects.filter(run=run):
        client.set(key_of(attempt.stream), f"so far: {WORD}", ex=600)
    for proposal in Proposal.objects.filter(run=run):
        client.set(key_of(proposal.stream), f"so far: {WORD}", ex=600)
        client.set(draft_key_of(proposal.pk), f'[{{"instruction": "{WORD}"}}]', ex=600)


def tried(run: Run, *, by: User, now: datetime) -> None:
    """An experiment on the run, whose forks copy its texts."""
    start_experiment(run=run, edges=[("s1", "s2")], baseline=False, limit_usd=Decimal(1), by=by, now=now)


def forked(run: Run, *, by: User, now: datetime) -> Run:
    assert run.workflow is not None
    return services.fork_run(parent=run, workflow=run.workflow, by=by, now=now)
