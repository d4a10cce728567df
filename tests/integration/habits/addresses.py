"""Every address of the studio with who may come to it: a new one is entered here, or its test fails.

`get` and `post` say what somebody must be allowed to do in the project whose thing the address names; ANYBODY is
whoever is signed in, OPEN whoever comes, None nobody: there is no such method. `form` is a post that does something
where it is allowed; `@done` in it, or in `given`, stands for the thing of that name in `world`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.accounts.roles import Deed

SEE, ACT, AUDIT, ADMINISTER = Deed.SEE, Deed.ACT, Deed.AUDIT, Deed.ADMINISTER
OPEN, ANYBODY = "open", "anybody"


@dataclass(frozen=True)
class Address:
    """Who may come to an address, and what is sent there."""

    get: str | None = None
    post: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)  # what a GET asks for
    is_hidden: bool = False  # whoever may not come is told that there is nothing
    whoever: str = ""  # who does it, where no role is enough


def run(name: str, **more: Any) -> Address:
    """What names a run, of those in `world`."""
    return Address(**{"get": SEE, "given": {"code": f"@{name}"}} | more)


def acts(name: str, **form: Any) -> Address:
    """What is only there to do something with a run."""
    return Address(post=ACT, given={"code": f"@{name}"}, form=form)


def of_project(**more: Any) -> Address:
    given = {"slug": "@project"} | more.pop("given", {})
    return Address(given=given, **more)


def own(**more: Any) -> Address:
    """A page of one's own account."""
    return Address(get=ANYBODY, **more)


LISTS_TO_IMPORT = '{"model_id": ["sim-birch"], "subtasks": ["Do it."], "access_list": [[]]}'
PASSWORD = "seven quiet pears"
STEP = {"code": "@done", "key": "s1"}
ID = {"id": "@template"}

RUNS: dict[str, Address] = {
    "run": run("done"),
    "run-head": run("done"),
    "run-outline": run("done"),
    "run-answer": run("done"),
    "run-panel": run("done"),
    "run-peek": run("done"),
    "run-view": run("done"),
    "run-tracks": run("done"),
    "run-ledger": run("done"),
    "run-plan-card": run("held"),
    "run-edges-results": run("done"),
    "run-export": run("done", asked={"as": "json"}),
    "run-replay": run("done"),
    "run-review": run("done"),
    "run-retention": run("done"),
    "run-step": Address(get=SEE, given=STEP),
    "run-stop": acts("running"),
    "run-pause": acts("running"),
    "run-approve": acts("held"),
    "run-reject": acts("held", reason="No."),
    "run-go-on": acts("paused"),
    "run-rerun": acts("done", mode="fresh", submit_key="again"),
    "run-breakpoints": acts("running", step="s1", set="on"),
    "run-write": Address(post=ACT, given={"code": "@paused", "key": "s1"}, form={"text": "By hand."}),
    "run-pick": acts("held"),
    "run-rate": acts("done", score="4", comment="Good."),
    "run-edges-stop": acts("trying"),
    "run-edges-try": acts("done", alone="s1:s2", limit_usd="0.5"),
    "run-plans": run("held", post=ACT, form={"times": "2", "submit_key": "plans"}),
    "run-edges": run("done"),
    "run-edit": run("done", get=ACT, post=ACT, form={"action": "check", "order": ["s1", "s2"], "reason": "Why not"}),
    "run-again": run("done", get=ACT, post=ACT, form={"mode": "fresh", "seen": "@seal"}),
    "run-template": run("done", get=ACT, post=ACT, form={"name": "Another", "task": "Do it."}),
    "run-share": run("done", post=ACT, form={"expires": "7"}),
    "run-share-revoke": Address(post=ACT, given={"code": "@done", "id": "@share"}),
    "run-sign-off": Address(post=AUDIT, given={"code": "@done"}, form={"verdict": "accepted"}),
    "run-assign": Address(post=AUDIT, given={"code": "@done"}, form={"to": "auditor"}),
    "run-except": Address(post=ADMINISTER, given={"code": "@ruled"}, form={"reason": "It may.", "seen": "@told"}),
    "run-erase": Address(post=ADMINISTER, given={"code": "@done"}, form={"reason": "Asked to."}),
    "run-hold": Address(post=ADMINISTER, given={"code": "@done"}, form={"reason": "A case."}),
}

KEPT: dict[str, Address] = {
    "workflow": Address(get=SEE, post=ACT, given=ID, form={"action": "start", "fill-what": "x", "submit_key": "t"}),
    "workflow-change": Address(get=ACT, post=ACT, given=ID, form={"name": "New", "task": "Do {it}.", "version": "1"}),
    "workflow-delete": Address(get=ACT, post=ACT, given=ID),
    "workflow-export": Address(get=SEE, given=ID),
    "shared": Address(get=OPEN, given={"token": "@token"}),
    "shared-replay": Address(get=OPEN, given={"token": "@token"}),
}

POOL: dict[str, Address] = {
    "worker": Address(get=SEE, given={"slug": "@worker"}),
    "worker-test": Address(post=ADMINISTER, given={"slug": "@worker"}, form={"submit_key": "test"}),
    "worker-tested": Address(get=SEE, given={"slug": "@worker", "code": "@trial"}),
    "worker-try-now": Address(post=ADMINISTER, given={"slug": "@worker"}),
    "conductor": Address(get=SEE, given={"slug": "@conductor"}),
}

PROJECTS: dict[str, Address] = {
    "project": of_project(get=SEE),
    "project-choose": of_project(post=SEE),
    "project-add": of_project(post=ADMINISTER, form={"name": "stranger", "role": "analyst"}),
    "project-member": of_project(post=ADMINISTER, given={"id": "@member"}, form={"action": "remove"}),
    "project-invite": of_project(post=SEE, given={"id": "@member"}, whoever="root"),
    "project-rules": of_project(
        get=SEE, post=ADMINISTER, form={"action": "add-tag", "name": "another", "words": "Why"}
    ),
    "retention": of_project(get=SEE),
    "retention-set": of_project(post=ADMINISTER, form={"days": "30", "reason": "Law"}),
    "retention-drop": of_project(post=ADMINISTER, given={"id": "@policy"}, form={"reason": "Law"}),
    "retention-hold": of_project(post=ADMINISTER, form={"reason": "A case."}),
    "retention-lift": of_project(post=ADMINISTER, given={"id": "@hold"}, form={"reason": "Closed."}),
}

LISTS: dict[str, Address] = {
    "compose": Address(get=ANYBODY, post=ACT, form={"task": "Add 1 and 1.", "profile": "studio-ultra"}),
    "runs": Address(get=ANYBODY, asked={"q": "grew"}),
    "palette": Address(get=ANYBODY, asked={"q": "grew"}),
    "compare": Address(get=ANYBODY),
    "reviews": Address(get=ANYBODY),
    "workflows": Address(get=ANYBODY),
    "workflow-import": Address(
        get=ACT, post=ACT, form={"action": "keep", "text": LISTS_TO_IMPORT, "name": "Brought", "task": "Do it."}
    ),
    "workers": Address(get=ANYBODY),
    "conductors": Address(get=ANYBODY),
    "projects": Address(get=ANYBODY),
    "audit": Address(get=AUDIT),
    "audit-news": Address(get=AUDIT),
    "audit-standing": Address(get=AUDIT),
    "audit-verify": Address(post=AUDIT, form={"project": "@project"}),
    "audit-event": Address(get=AUDIT, given={"pk": "@event"}, is_hidden=True),
    "audit-export": Address(get=AUDIT, post=AUDIT, form={"kind": "all", "project": "@project"}),
    "audit-key": Address(get=ANYBODY),
    "views": Address(post=ANYBODY, form={"name": "Mine", "q": "status:failed"}),
    "view": Address(post=ANYBODY, given={"pk": "@view"}, form={"name": "New name"}, is_hidden=True, whoever="analyst"),
}

ACCOUNT: dict[str, Address] = {
    "account": own(post=ANYBODY, form={"new_password1": PASSWORD, "new_password2": PASSWORD}),
    "new-key": own(
        post=ANYBODY,
        form={"name": "Mine", "project": "@project's id", "scopes": ["read"], "rate_per_minute": "60"},
    ),
    "revoke-key": Address(post=ANYBODY, given={"pk": "@key"}, is_hidden=True, whoever="analyst"),
    "take-identity-away": Address(post=ANYBODY, given={"pk": "@identity"}, is_hidden=True, whoever="analyst"),
    "sign-out": Address(post=OPEN),
    "favicon": Address(get=OPEN),
    "healthz": Address(get=OPEN),
    "readyz": Address(get=OPEN),
}

ADDRESSES: dict[str, Address] = {**RUNS, **KEPT, **POOL, **PROJECTS, **LISTS, **ACCOUNT}

# The ways in and what guards an account: django-allauth's, tried in tests of their own. They name nothing of a project.
SIGNING_IN = ("account_", "mfa_", "openid_connect_", "sign-in-by-link", "end-session", "end-other-sessions")
