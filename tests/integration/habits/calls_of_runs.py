"""A call of every service that does something with runs, and with what is kept beside them."""

from decimal import Decimal

from apps.runs import experiments, holding, plans, rating, reviewing, saved_views, sharing, templates, trying
from apps.runs import services as runs
from apps.runs.excepting import except_run, seal_of
from apps.web.pool.reports import doors_client
from apps.workers.models import Worker
from tests.integration.habits.calling import Call, acts, administers, audits
from tests.integration.habits.world import WORD


def own_worker() -> Worker:
    return Worker.objects.get(slug=f"{WORD}-worker")


CALLS: dict[str, Call] = {
    # --- runs
    "runs.services.submit_run": acts(
        lambda w, by, now: runs.submit_run(task="Add.", profile=w.ultra, project=w.project, by=by, now=now)
    ),
    "runs.services.fork_run": acts(
        lambda w, by, now: runs.fork_run(parent=w.done, workflow=w.done.workflow, by=by, now=now)
    ),
    "runs.services.stop_run": acts(lambda w, by, now: runs.stop_run(run=w.running, by=by, now=now)),
    "runs.services.cut_short": Call(lambda w, by, now: runs.cut_short(run=w.running, by=by.actor, now=now)),
    "runs.services.approve_run": acts(lambda w, by, now: runs.approve_run(run=w.held, by=by, now=now)),
    "runs.services.go_on": acts(lambda w, by, now: runs.go_on(run=w.paused, by=by, now=now)),
    "runs.holding.pause_run": acts(lambda w, by, now: holding.pause_run(run=w.running, by=by, now=now)),
    "runs.holding.set_breakpoints": acts(
        lambda w, by, now: holding.set_breakpoints(run=w.running, keys=["s1"], by=by, now=now)
    ),
    "runs.holding.mark_step": acts(
        lambda w, by, now: holding.mark_step(run=w.running, key="s1", on=True, by=by, now=now)
    ),
    "runs.holding.write_result": acts(
        lambda w, by, now: holding.write_result(run=w.paused, key="s1", text="By hand.", by=by, now=now)
    ),
    "runs.holding.reject_run": acts(lambda w, by, now: holding.reject_run(run=w.held, by=by, now=now, reason="No.")),
    "runs.holding.revise_run": acts(
        lambda w, by, now: holding.revise_run(run=w.held, workflow=w.done.workflow, by=by, now=now)
    ),
    "runs.plans.submit_again": acts(lambda w, by, now: plans.submit_again(run=w.held, by=by, now=now)),
    "runs.plans.plan_again": acts(lambda w, by, now: plans.plan_again(run=w.held, times=2, by=by, now=now)),
    "runs.plans.pick_plan": acts(lambda w, by, now: plans.pick_plan(run=w.held, by=by, now=now)),
    "runs.excepting.except_run": administers(
        lambda w, by, now: except_run(
            run=w.ruled, by=by, now=now, reason="It may.", seen=[seal_of(w.ruled.held_by["rules"][0])]
        )
    ),
    "runs.experiments.start_experiment": acts(
        lambda w, by, now: experiments.start_experiment(
            run=w.done, edges=[("s1", "s2")], baseline=True, limit_usd=Decimal(1), by=by, now=now
        )
    ),
    "runs.experiments.stop_experiment": acts(
        lambda w, by, now: experiments.stop_experiment(experiment=w.experiment, by=by, now=now)
    ),
    "runs.sharing.share_run": acts(lambda w, by, now: sharing.share_run(run=w.done, by=by, now=now)),
    "runs.sharing.revoke_share": acts(lambda w, by, now: sharing.revoke_share(share=w.share, by=by, now=now)),
    "runs.rating.rate_result": acts(lambda w, by, now: rating.rate_result(run=w.done, score=4, by=by, now=now)),
    "runs.rating.withdraw_rating": acts(
        lambda w, by, now: rating.withdraw_rating(run=w.done, by=by, now=now),
        prepared=lambda w, by, now: rating.rate_result(run=w.done, score=4, by=by, now=now),
    ),
    "runs.reviewing.assign_review": audits(
        lambda w, by, now: reviewing.assign_review(run=w.done, to=by, by=by, now=now)
    ),
    "runs.reviewing.withdraw_review": audits(
        lambda w, by, now: reviewing.withdraw_review(run=w.done, by=by, now=now),
        prepared=lambda w, by, now: reviewing.assign_review(run=w.done, to=by, by=by, now=now),
    ),
    "runs.reviewing.sign_off": audits(
        lambda w, by, now: reviewing.sign_off(run=w.done, verdict="accepted", by=by, now=now)
    ),
    "runs.trying.try_worker": administers(lambda w, by, now: trying.try_worker(worker=own_worker(), by=by, now=now)),
    "runs.trying.forgive_worker": administers(
        lambda w, by, now: trying.forgive_worker(worker=own_worker(), client=doors_client(), by=by, now=now)
    ),
    # --- what is kept
    "runs.templates.keep_template": acts(
        lambda w, by, now: templates.keep_template(
            name="New", task="Do it.", workflow=w.done.workflow, project=w.project, by=by, now=now
        )
    ),
    "runs.templates.change_template": acts(
        lambda w, by, now: templates.change_template(
            template=w.template, seen=1, name="New", task="Do it.", description="", by=by, now=now
        )
    ),
    "runs.templates.delete_template": acts(
        lambda w, by, now: templates.delete_template(template=w.template, by=by, now=now)
    ),
    "runs.templates.start_template": acts(
        lambda w, by, now: templates.start_template(
            template=w.template, values={"what": "x"}, profile=w.ultra, by=by, now=now
        )
    ),
    "runs.templates.draw_run": acts(
        lambda w, by, now: templates.draw_run(task="Do it.", profile=w.ultra, project=w.project, by=by, now=now)
    ),
    "runs.saved_views.save_view": Call(
        lambda w, by, now: saved_views.save_view(name="New", text="status:failed", by=by, now=now)
    ),
    "runs.saved_views.change_view": Call(
        lambda w, by, now: saved_views.change_view(view=w.view, name="New", by=by, now=now)
    ),
    "runs.saved_views.delete_view": Call(lambda w, by, now: saved_views.delete_view(view=w.view, by=by, now=now)),
}
