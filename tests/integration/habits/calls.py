"""A call of every service that changes something, by somebody who may and by somebody who may not.

A new service is entered in one of the two tables, or, where it leaves no event by itself, in OTHERS with the reason.
"""

from tests.integration.habits import calls_of_runs, calls_of_studio
from tests.integration.habits.calling import Call

CALLS: dict[str, Call] = {**calls_of_runs.CALLS, **calls_of_studio.CALLS}

# What is told `by` whom and leaves no event of its own, and why.
OTHERS = {
    "audit.log.append": "it is what writes them",
    "runs.log.append": "it is what writes those of runs",
    "runs.log.adopted": "makes an entry that its caller appends",
    "runs.finding.find": "only reads",
    "runs.drafts.drafts_of": "only reads",
    "runs.drafts.drafts_of_others": "only reads",
    "runs.drafts.save_draft": "a draft is no act upon the run: what is started from it is",
    "runs.drafts.drop_draft": "likewise",
    "runs.trying.may_try": "only asks",
    "runs.trying.check_may_try": "only asks",
    "runs.nesting.open_nested": "is called by a driver, in its transaction: see the tests of nesting",
    "runs.nesting.end_nested": "likewise",
    "runs.services.raise_limit_of_run": "is a part of `go_on`",
    "runs.retention.erasing.erase": "is a part of `erase_run` and `apply_policies`, in a transaction that they open",
    "audit.exporting.exports.begin_export": "is what `export_run` and `export_projects` call",
    "accounts.second_factors.note_recovery_codes": "is called by the pages of django-allauth, in their transaction",
    "accounts.second_factors.note_factor": "is called by the pages of django-allauth: see the tests of signing in",
    "accounts.second_factors.forget_second_factors": "there are none in this world: see the tests of signing in",
    "accounts.projects.end_what_it_opened": "is a part of `remove_member`",
    "accounts.sessions.end_sessions": "there are none in this world: see the tests of signing in",
    "accounts.services.note_password_change": "is a part of `change_password`",
    "workers.health.keep": "only that a conductor came up or went down is an event: see the tests of health",
    "workers.health.look_at_conductors": "likewise",
}
