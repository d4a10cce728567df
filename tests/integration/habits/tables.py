"""What stands in every table, and which of it the events that came may explain."""

from collections.abc import Collection, Iterable, Mapping

from django.db import connection

# Written without an event, each for its reason: sessions and what guards them are told of at sign-in and sign-out; a
# draft is no act upon a run; when a key, a link or a check was last looked at is no change of it.
UNTOLD = frozenset(
    {"django_session", "usersessions_usersession", "runs_saveddraft", "audit_follower", "audit_eventwords"}
)

OF_RUNS = frozenset(
    {"runs_run", "runs_step", "runs_attempt", "runs_proposal", "runs_runwords", "spend_account", "spend_line"}
)

# By how a verb begins, the tables whose change it tells of.
TOLD: Mapping[str, frozenset[str]] = {
    "run.": OF_RUNS | {"runs_share", "runs_review", "runs_rating", "runs_saveddraft", "runs_variant", "audit_payload"},
    "workflow.": OF_RUNS,
    "step.": OF_RUNS,
    "limit.": frozenset({"spend_account"}),
    "experiment.": OF_RUNS | {"runs_experiment", "runs_variant"},
    "template.": frozenset({"workflows_savedworkflow"}),
    "view.": frozenset({"runs_savedview"}),
    "review.": frozenset({"runs_review", "runs_run"}),
    "result.": frozenset({"runs_rating"}),
    "password.": frozenset({"accounts_user"}),
    "membership.": frozenset({"accounts_membership", "accounts_user"}),
    "person.": frozenset({"accounts_user", "accounts_membership", "accounts_project"}),
    "sign-in.": frozenset({"socialaccount_socialaccount"}),
    "sign-in-link.": frozenset({"accounts_signinlink"}),
    "api-key.": frozenset({"accounts_apikey"}),
    "retention.": frozenset({"runs_policy", "runs_legalhold"}),
    "policy.": frozenset({"runs_policy"}),
    "hold.": frozenset({"runs_legalhold"}),
    "tag.": frozenset({"workers_tag"}),
    "rule.": frozenset({"workers_flowrule"}),
    "worker.": frozenset({"workers_worker"}),
    "conductor.": frozenset({"workers_conductor"}),
    "profile.": frozenset({"workers_profile", "workers_profile_workers"}),
    "vault.": frozenset({"workers_credential"}),
    "planner.": frozenset({"conductor_learnt"}),
    "budget.": frozenset({"spend_budget", "spend_account"}),
    "anchor.": frozenset({"audit_anchor", "audit_anchoredhead"}),
    "check.": frozenset({"audit_check"}),
}
ALWAYS = frozenset({"audit_event", "audit_trail", "audit_payload"})  # what an event is made of


# Columns by their tables that say when something was last looked at: no change of it.
LOOKED_AT = {"runs_share": "opened_at", "accounts_apikey": "last_used_at", "accounts_user": "last_login"}


def writes() -> dict[str, int]:
    """How many rows of each table this transaction has written so far, whatever was undone since."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables")
        return dict(cursor.fetchall())


def contents(only: Collection[str] | None = None) -> dict[str, str]:
    """A digest of each table's rows, or of those of `only` some."""
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor) if only is None else only
        names = [name for name in names if name not in UNTOLD]
        if not names:
            return {}
        cursor.execute(" UNION ALL ".join(_digest_of(name) for name in names))
        return {name: digest or "" for name, digest in cursor.fetchall()}


def _digest_of(table: str) -> str:
    row = f"(to_jsonb(t) - '{LOOKED_AT.get(table, '')}')::text"
    return f"SELECT '{table}', md5(string_agg({row}, '|' ORDER BY {row})) FROM {table} AS t"


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """The tables whose rows are others now."""
    return {name for name, digest in after.items() if before.get(name) != digest}


def untold(tables: Iterable[str], verbs: Iterable[str]) -> set[str]:
    """Those of the changed `tables` of which none of the `verbs` that came tells."""
    told = {name for verb in verbs for start, names in TOLD.items() if verb.startswith(start) for name in names}
    return set(tables) - told - ALWAYS
