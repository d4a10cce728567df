"""What a driver writes of a run's planning."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from apps.audit.statements import together
from apps.runs.calls import spend
from apps.runs.log import adopted, extended, lay_out, move
from apps.runs.models import Proposal, Run
from apps.runs.pen import Page, Pen, pays
from apps.runs.purse import plan_ref
from apps.spend.book import Refusal
from apps.workers.calls import CallFailed, Completion, Usage
from apps.workflows.graph import Problem
from apps.workflows.workflow import Workflow


class PlanningDesk(Pen):
    """The planning's part of the desk."""

    @pays
    def start_planning(
        self,
        page: Page,
        *,
        messages: Sequence[Mapping[str, str]],
        number: int,
        conductor: Mapping[str, Any],
        round: int = 1,
    ) -> Proposal | Refusal:
        """A planner is being asked: from now on its text streams under the proposal. Or the limit that forbids it."""
        ref, slug = plan_ref(self.run, number), conductor["slug"]
        reserve = self.purse.reserve(ref=ref, frozen=conductor, messages=messages, at=page.at)
        if reserve is not None and (refusal := together([reserve])[0]) is not None:
            return cast(Refusal, refusal)
        given = {"conductor": slug, "round": round, "sent": list(messages), "started_at": page.at}
        proposal, new = Proposal.objects.get_or_create(run=self.run, number=number, defaults=given)
        if new:
            data = {"proposal": proposal.pk, "number": number, "round": round, "conductor": slug}
            page.tell("planning.started", data, {"request": json.dumps(messages, ensure_ascii=False)})
        return proposal

    @pays
    def finish_planning(
        self,
        page: Page,
        *,
        proposal: Proposal,
        status: Proposal.Status,
        raw: str,
        repairs: Sequence[str] = (),
        problems: Sequence[str] = (),
        conductor: Mapping[str, Any],
        verdict: str = "",
        steps: int = 0,
        completion: Completion | None = None,
        failure: CallFailed | None = None,
        cost_usd: Decimal | None = None,
    ) -> None:
        """Keep what a planner returned, whatever came of it. `conductor` is the frozen one that was asked."""
        usage = completion.usage if completion else failure.usage if failure else None
        cost_usd = completion.cost_usd if completion else cost_usd
        ttft_ms = completion.ttft_ms if completion else failure.ttft_ms if failure else None
        if not Proposal.objects.filter(pk=proposal.pk, status=Proposal.Status.WRITING).exists():
            return  # written before: the database went away between the commit and its answer
        spend(self.run, usage, cost_usd)
        ref = plan_ref(self.run, proposal.number)
        self.purse.pay(ref=ref, frozen=conductor, usage=usage or Usage(0), cost_usd=cost_usd, at=page.at)
        duration_ms = (page.at - proposal.started_at).total_seconds() * 1000
        fields: dict[str, Any] = {
            "status": status,
            "verdict": verdict,
            "raw": raw,
            "track": proposal.track,
            "error": failure.message if failure else "",
            "repairs": list(repairs),
            "problems": list(problems),
            "input_tokens": usage.input_tokens if usage else 0,
            "output_tokens": usage.output_tokens if usage else 0,
            "estimated": usage.estimated if usage else False,
            "cost_usd": cost_usd,
            "ttft_ms": ttft_ms,
            "duration_ms": duration_ms,
            "finished_at": page.at,
        }
        Proposal.objects.filter(pk=proposal.pk).update(**fields)
        valid = status == Proposal.Status.VALID
        data: dict[str, Any] = {
            "proposal": proposal.pk,
            "number": proposal.number,
            "round": proposal.round,
            "verdict": verdict or None,
            "steps": steps,
            "input_tokens": fields["input_tokens"],
            "output_tokens": fields["output_tokens"],
            "estimated": fields["estimated"],
            "cost_usd": None if cost_usd is None else str(cost_usd),
            "duration_ms": round(duration_ms, 1),
            "ttft_ms": None if ttft_ms is None else round(ttft_ms, 1),
        }
        # Repairs and problems quote what the planner wrote.
        found = {"repairs": "\n".join(repairs), "problems": "\n".join(problems)}
        texts = {"raw": raw} | {name: text for name, text in found.items() if text}
        texts |= {"error": failure.message} if failure else {}
        page.tell("planning.done" if valid else "planning.failed", data, texts)

    def wait_planning(self, page: Page, *, told: Mapping[str, Any]) -> None:
        """The conductor cannot be asked yet, and why."""
        page.tell("planning.waiting", told)

    def fall_back(self, page: Page, *, planner: str, why: str) -> None:
        """The run's planner brought no workflow: another one stands in, and people are told."""
        notice = f"{why} So the planner “{planner}” stood in."
        if Run.objects.filter(pk=self.run.pk, notice="").update(notice=notice):
            self.run.notice = notice
            page.tell("planning.fellback", {"from": self.run.setup["planner"], "to": planner}, {"reason": why})

    def adopt(
        self, page: Page, *, workflow: Workflow, by: str, planner: str, warnings: Sequence[Problem], hold: bool
    ) -> None:
        """Take `workflow` as the one to carry out: at once, or after somebody has approved it."""
        if Run.objects.filter(pk=self.run.pk, workflow_body__isnull=False).exists():
            return  # written before, as above
        page.entries.append(adopted(workflow, by=by, warnings=warnings))
        lay_out(self.run, workflow)
        body = workflow.model_dump(mode="json")
        if hold:
            held: dict[str, Any] = {"hold": Run.Hold.REVIEW, "driver": "", "heart_at": None}
            move(self.run, Run.Status.HELD, workflow_body=body, planned_by=planner, **held)
            page.tell("run.held", {"reason": "review"})
        else:
            move(self.run, Run.Status.RUNNING, workflow_body=body, planned_by=planner)

    def extend(self, page: Page, *, workflow: Workflow, warnings: Sequence[Problem]) -> None:
        """The planner saw what came of its workflow, and adds steps to it: another round, or its next turn."""
        old = self.run.steps.count()
        if old == len(workflow.steps):
            return  # written before, as above
        page.entries.append(extended(workflow, since=old, warnings=warnings))
        lay_out(self.run, workflow, since=old)
        self.run.workflow_body = workflow.model_dump(mode="json")
        Run.objects.filter(pk=self.run.pk).update(workflow_body=self.run.workflow_body)

    def give_notice(self, page: Page, *, notice: str) -> None:
        """Something of the planning that people must know, though the run goes on."""
        self.run.notice = " ".join(filter(None, [self.run.notice, notice]))
        Run.objects.filter(pk=self.run.pk).update(notice=self.run.notice)
        page.tell("run.noticed", {}, {"reason": notice})

    # --- vectors ---------------------------------------------------------------------------------------------------

    @pays
    def set_aside(
        self, page: Page, *, ref: str, frozen: Mapping[str, Any], messages: Sequence[Mapping[str, str]]
    ) -> Refusal | None:
        """An embedding worker is about to be asked: set aside what that could cost, or say which limit forbids it."""
        reserve = self.purse.reserve(ref=ref, frozen=frozen, messages=messages, at=page.at, is_answered=False)
        refusal: Refusal | None = None if reserve is None else together([reserve])[0]
        return refusal

    @pays
    def embedded(
        self,
        page: Page,
        *,
        ref: str,
        frozen: Mapping[str, Any],
        told: Mapping[str, Any],
        digest: str,
        usage: Usage,
        cost_usd: Decimal | None,
    ) -> None:
        """The vectors came; `digest` is theirs."""
        if self.purse.pay(ref=ref, frozen=frozen, usage=usage, cost_usd=cost_usd, at=page.at):
            spend(self.run, usage, cost_usd)
            page.tell("embedding.done", told, {"digest": digest})

    @pays
    def embedding_failed(
        self,
        page: Page,
        *,
        ref: str,
        frozen: Mapping[str, Any],
        told: Mapping[str, Any],
        failure: CallFailed,
        cost_usd: Decimal | None,
    ) -> None:
        """The vectors did not come."""
        usage = failure.usage or Usage(0)
        if self.purse.pay(ref=ref, frozen=frozen, usage=usage, cost_usd=cost_usd, at=page.at):
            spend(self.run, failure.usage, cost_usd)
            page.tell("embedding.failed", told, {"error": failure.message})
