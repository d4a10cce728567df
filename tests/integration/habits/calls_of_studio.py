"""A call of every service about what is kept how long, exports and checks, people, and the pool and its money."""

from decimal import Decimal

from apps.accounts import api_keys, projects
from apps.accounts import services as accounts
from apps.accounts.identities import take_identity_away
from apps.accounts.models import User
from apps.audit import checks
from apps.audit.verification import Found
from apps.conductor.services import keep_learnt
from apps.runs import exporting as exports
from apps.runs.models import Run
from apps.runs.retention import applying, erasing, holds, policies
from apps.spend import services as spend
from apps.spend.models import Account
from apps.workers import rotation, rules
from apps.workers import services as pool
from tests.integration.habits.calling import Call, administers, audits
from tests.integration.habits.world import WORD

LIMIT = {"key": "run:nobodys", "label": "a limit", "limit_usd": Decimal(1)}

CALLS: dict[str, Call] = {
    # --- retention and exports
    "runs.retention.policies.set_policy": administers(
        lambda w, by, now: policies.set_policy(
            project=w.project, profile="", keep_days=30, reason="Law.", by=by, now=now
        )
    ),
    "runs.retention.policies.drop_policy": administers(
        lambda w, by, now: policies.drop_policy(policy=w.policy, reason="Law.", by=by, now=now)
    ),
    "runs.retention.holds.place_hold": administers(
        lambda w, by, now: holds.place_hold(project=w.project, run=w.done, reason="A case.", by=by, now=now)
    ),
    "runs.retention.holds.lift_hold": administers(
        lambda w, by, now: holds.lift_hold(hold=w.hold, reason="Closed.", by=by, now=now)
    ),
    "runs.retention.erasing.erase_run": administers(
        lambda w, by, now: erasing.erase_run(run=w.done, reason="Asked.", by=by, now=now)
    ),
    "runs.retention.applying.apply_policies": Call(
        lambda w, by, now: list(applying.apply_policies(now=now, by=by.actor, project=w.project)),
        prepared=lambda w, by, now: Run.objects.filter(pk=w.done.pk).update(finished_at=now.replace(year=1990)),
    ),
    "runs.exporting.export_run": audits(lambda w, by, now: exports.export_run(run=w.done, by=by, now=now)),
    "runs.exporting.export_projects": audits(
        lambda w, by, now: exports.export_projects(projects=[w.project.slug], by=by, now=now)
    ),
    "audit.checks.start_check": Call(
        lambda w, by, now: checks.start_check(project=w.project.slug, by=by.actor, now=now)
    ),
    "audit.checks.keep": Call(
        lambda w, by, now: checks.keep(None, Found(anchor=None), by=by.actor, started_at=now, now=now)
    ),
    # --- people
    "accounts.projects.add_member": administers(
        lambda w, by, now: projects.add_member(project=w.project, name="stranger", role="analyst", by=by, now=now)
    ),
    "accounts.projects.change_role": administers(
        lambda w, by, now: projects.change_role(project=w.project, member=w.member.pk, role="analyst", by=by, now=now)
    ),
    "accounts.projects.remove_member": administers(
        lambda w, by, now: projects.remove_member(project=w.project, member=w.member.pk, by=by, now=now)
    ),
    "accounts.projects.choose_home": Call(
        lambda w, by, now: projects.choose_home(project=w.project, by=by, now=now), "analyst", "stranger"
    ),
    "accounts.projects.invite_member": Call(
        lambda w, by, now: projects.invite_member(project=w.project, member=w.member.pk, by=by, now=now),
        "root",
        "admin",
    ),
    "accounts.api_keys.make_api_key": Call(
        lambda w, by, now: api_keys.make_api_key(
            person=by, project=w.project, name="New", scopes=["read"], by=by.actor, now=now
        )
    ),
    "accounts.api_keys.revoke_api_key": Call(
        lambda w, by, now: api_keys.revoke_api_key(key=w.key, by=by.actor, now=now)
    ),
    "accounts.services.make_sign_in_link": Call(
        lambda w, by, now: accounts.make_sign_in_link(user=by, by=by.actor, now=now)
    ),
    "accounts.services.void_sign_in_links": Call(
        lambda w, by, now: accounts.void_sign_in_links(person=by, by=by.actor, now=now),
        prepared=lambda w, by, now: accounts.make_sign_in_link(user=by, by=by.actor, now=now),
    ),
    "accounts.services.change_password": Call(
        lambda w, by, now: accounts.change_password(user=by, password="seven quiet pears", by=by.actor, now=now)
    ),
    "accounts.identities.take_identity_away": Call(
        lambda w, by, now: take_identity_away(identity=w.identity, by=by.actor, now=now)
    ),
    "accounts.services.settle_in": Call(
        lambda w, by, now: accounts.settle_in(user=User.objects.get(username="new"), by=by.actor, now=now),
        prepared=lambda w, by, now: User.objects.create_user("new"),
    ),
    # --- the pool and its money
    "workers.rules.add_tag": administers(
        lambda w, by, now: rules.add_tag(project=w.project, name="another", by=by, now=now)
    ),
    "workers.rules.add_rule": administers(
        lambda w, by, now: rules.add_rule(
            project=w.project, carries=f"{WORD}-safe", needs=f"{WORD}-secret", by=by, now=now
        )
    ),
    "workers.rules.change_rule": administers(
        lambda w, by, now: rules.change_rule(
            rule=w.rule,
            seen=w.rule.version,
            carries=w.rule.carries,
            needs=w.rule.needs,
            words="",
            enabled=False,
            by=by,
            now=now,
        )
    ),
    "workers.services.ensure_simulated": Call(
        lambda w, by, now: pool.ensure_simulated(url="http://127.0.0.1:8/v1", by=by.actor, now=now)
    ),
    "workers.services.dismiss_simulated": Call(lambda w, by, now: pool.dismiss_simulated(by=by.actor, now=now)),
    "workers.rotation.reseal_all": Call(lambda w, by, now: rotation.reseal_all(by=by.actor, now=now)),
    "spend.services.raise_limit": Call(
        lambda w, by, now: spend.raise_limit(
            account=Account.objects.get(key="run:nobodys"), to=Decimal(2), by=by.actor, reason="", now=now
        ),
        prepared=lambda w, by, now: Account.objects.create(**LIMIT),
    ),
    "spend.services.raise_budget": Call(
        lambda w, by, now: spend.raise_budget(budget=w.budget, to=Decimal(99), by=by.actor, reason="", now=now)
    ),
    "conductor.services.keep_learnt": Call(
        lambda w, by, now: keep_learnt(planner="routerdc", body={}, trained_on={}, by=by.actor, now=now)
    ),
}
