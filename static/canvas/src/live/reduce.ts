/*
 * One event more: pure, so that the run as it was after any event is a fold over the events before it.
 *
 * Whatever an event does not touch keeps its identity, so that `before === after` tells a page what to redraw.
 */
import type { AdoptedStep, AnswerDetail, RunEvent, Sink } from "./events";
import { isOver, NOTHING, type Attempt, type Planning, type RunState, type Step } from "./state";

/** What stands in the place of a text that was erased: every other text of an event is there, if only as an empty one. */
const ERASED = "Erased";

/** The run after `event`; the very same state when the event was seen before. */
export function reduce(state: RunState, event: RunEvent): RunState {
  if (event.seq <= state.seq) return state;
  return { ...apply(state, event), seq: event.seq };
}

/** The run as it was after the last of `events`. */
export function replay(events: readonly RunEvent[], from: RunState = NOTHING): RunState {
  return events.reduce(reduce, from);
}

function apply(state: RunState, event: RunEvent): RunState {
  switch (event.verb) {
    case "run.submitted":
      return {
        ...state,
        task: event.texts.task ?? state.task,
        profile: event.data.profile,
        planner: event.data.planner,
        pool: event.data.pool,
        rounds: event.data.rounds ?? 1,
        nestedIn: event.data.nested_in ?? null,
        parent: event.data.parent ?? null,
        submittedAt: event.at,
      };
    case "run.claimed":
      return { ...state, startedAt: state.startedAt ?? event.at };
    case "planning.waiting":
      return { ...state, status: plansNow(state), planningWaits: event.data.words };
    case "planning.started":
      return { ...state, status: plansNow(state), planning: [...state.planning, begun(event)], planningWaits: "" };
    case "planning.failed":
    case "planning.done":
      return planned(state, event);
    case "planning.cut":
    case "planning.lost":
      return changePlanning(state, event.data.proposal, { status: "failed" });
    case "embedding.done":
    case "embedding.failed":
      return spent(state, { tokens: event.data.input_tokens, cost: event.data.cost_usd });
    case "planning.fellback":
      return { ...state, planner: event.data.to, notices: [...state.notices, event.texts.reason ?? ""] };
    case "run.noticed":
      return { ...state, notices: [...state.notices, event.texts.reason ?? ""] };
    case "workflow.adopted":
      return { ...adopted(state, event), adoptedBy: event.data.by };
    case "workflow.extended":
      return extended(state, event);
    case "step.started":
      return { ...changeStep(state, event.data.step, (step) => started(step, event)), status: goOn(state, "running") };
    case "step.waiting":
      return changeStep(state, event.data.step, (step) => ({ ...step, waiting: event.data.words }));
    case "step.fellback": {
      const { from, to, kind } = event.data;
      const standIn = { from, to, kind, reason: event.texts.reason ?? "" };
      return changeStep(state, event.data.step, (step) => ({ ...step, worker: to, standIn, waiting: "" }));
    }
    case "attempt.failed":
      return changeStep(state, event.data.step, (step) =>
        changeAttempt(step, event.data.attempt, {
          status: "failed",
          error: event.texts.error ?? event.data.kind,
          retryInS: event.data.retry_in_s,
        }),
      );
    case "step.succeeded":
      return succeeded(state, event);
    case "step.reused":
      return {
        ...changeStep(state, event.data.step, (step) => reused(step, event)),
        status: goOn(state, "running"),
      };
    case "step.written":
      return changeStep(state, event.data.step, (step) => written(step, event));
    case "step.failed":
      return changeStep(state, event.data.step, (step) => ({
        ...changeAttempt(step, event.data.attempt, { status: "failed" }),
        status: "failed",
        waiting: "",
        error: event.texts.error ?? event.data.kind,
        endedAt: event.at,
      }));
    case "step.skipped":
      return changeStep(state, event.data.step, (step) => ({
        ...step,
        status: "skipped",
        because: event.data.because,
        endedAt: event.at,
      }));
    case "attempt.cut":
      return changeStep(state, event.data.step, (step) => ({
        ...changeAttempt(step, event.data.attempt, { status: "cut" }),
        status: "cancelled",
        endedAt: step.endedAt ?? event.at,
      }));
    case "attempt.late":
      return spent(
        changeStep(state, event.data.step, (step) => ({
          ...changeAttempt(step, event.data.attempt, { status: "late" }),
          outputTokens: event.data.output_tokens,
          costUsd: added(step.costUsd, event.data.cost_usd),
        })),
        { tokens: (event.data.input_tokens ?? 0) + event.data.output_tokens, cost: event.data.cost_usd },
      );
    case "attempt.lost":
      return changeStep(state, event.data.step, (step) => ({
        ...changeAttempt(step, event.data.attempt, { status: "lost" }),
        status: step.status === "running" ? "waiting" : step.status,
        waiting: "",
      }));
    case "run.pausing":
      return { ...state, pausing: true };
    case "run.breakpoints":
      return { ...state, breakpoints: event.data.steps };
    case "run.held":
      return held(state, event);
    case "run.resumed":
    case "run.excepted": {
      const status = goOn(state, state.steps.length > 0 ? "running" : "queued");
      return { ...state, status, heldFor: null, heldAt: null, brokeAt: null, forbidden: [], pausing: false };
    }
    case "run.approved":
      return { ...state, status: goOn(state, "running"), heldFor: null, forbidden: [] };
    case "run.forked":
      return { ...state, children: [...state.children, event.data.child] };
    case "run.stopped":
      return { ...state, status: "cancelled", endedAt: event.at, steps: state.steps.map(dropped) };
    case "run.rejected": {
      const rejected = { by: event.actor?.label ?? "", reason: event.texts.reason ?? "" };
      return { ...state, status: "cancelled", endedAt: event.at, steps: state.steps.map(dropped), rejected };
    }
    case "run.succeeded":
      return {
        ...state,
        status: "succeeded",
        endedAt: event.at,
        answer: event.texts.answer ?? null,
        answerStep: event.data.step,
        answerRule: event.data.rule,
        answerDetail: counted(event),
      };
    case "run.failed":
      return { ...state, status: "failed", endedAt: event.at, error: event.texts.error ?? event.data.code };
    default:
      return state; // a change of driver, and whatever a newer server may tell
  }
}

type Of<V extends RunEvent["verb"]> = V extends unknown ? Extract<RunEvent, { verb: V }> : never;

/** An end is an end: nothing that arrives later makes a finished run live again. */
const goOn = (state: RunState, status: RunState["status"]) => (isOver(state.status) ? state.status : status);

/** A later round is planned while the run goes on. */
const plansNow = (state: RunState): RunState["status"] => (state.steps.length > 0 ? state.status : goOn(state, "planning"));

const money = (text: string | null): number | null => (text === null ? null : Number(text));

function added(sum: number | null, cost: string | null): number | null {
  const more = money(cost);
  return more === null ? sum : (sum ?? 0) + more;
}

function spent(state: RunState, bill: { tokens: number; cost: string | null }): RunState {
  const cost = money(bill.cost);
  return {
    ...state,
    tokens: state.tokens + bill.tokens,
    costUsd: state.costUsd + (cost ?? 0),
    unpriced: state.unpriced || (cost === null && bill.tokens > 0),
  };
}

/** Nothing waits at a door any more: calls that were not made are asked for again. */
function held(state: RunState, event: Of<"run.held">): RunState {
  const { reason, step, breakpoint, rules = [], within = [] } = event.data;
  const forbidden = rules.filter(({ run }) => !within.includes(run)); // steps of the runs within have the same keys
  const steps = state.steps.map((each) => (each.waiting === "" ? each : { ...each, waiting: "" }));
  const why = { heldFor: reason, heldAt: step ?? null, brokeAt: breakpoint ?? null, forbidden, pausing: false };
  return { ...state, ...why, status: goOn(state, "held"), steps, planningWaits: "" };
}

function begun(event: Of<"planning.started">): Planning {
  return {
    proposal: event.data.proposal,
    number: event.data.number,
    round: event.data.round ?? 1,
    verdict: null,
    status: "running",
    conductor: event.data.conductor,
    startedAt: event.at,
    tokens: 0,
    costUsd: null,
    durationMs: null,
  };
}

/** What the answer went by, the votes under what was said; where that was erased, under their numbers. */
function counted({ data, texts }: Of<"run.succeeded">): AnswerDetail | null {
  const { detail } = data;
  if (detail?.counts === undefined) return detail ?? null;
  const counts: Record<string, string[]> = {};
  for (const [number, keys] of Object.entries(detail.counts)) {
    const said = texts[`vote:${Number(number)}`] ?? `answer ${number}`;
    counts[said in counts ? `${said} (${number})` : said] = keys;
  }
  return { ...detail, counts };
}

function planned(state: RunState, event: Of<"planning.failed" | "planning.done">): RunState {
  const { data } = event;
  const tokens = data.input_tokens + data.output_tokens;
  const changed = changePlanning(state, data.proposal, {
    status: event.verb === "planning.done" ? "done" : "failed",
    verdict: data.verdict ?? null,
    tokens,
    costUsd: money(data.cost_usd),
    durationMs: data.duration_ms,
  });
  return spent(changed, { tokens, cost: data.cost_usd });
}

function changePlanning(state: RunState, proposal: number, change: Partial<Planning>): RunState {
  return {
    ...state,
    planning: state.planning.map((entry) => (entry.proposal === proposal ? { ...entry, ...change } : entry)),
  };
}

function adopted(state: RunState, event: Of<"workflow.adopted">): RunState {
  const { data, texts } = event;
  return {
    ...state,
    status: data.by === "review" ? state.status : goOn(state, "running"), // a plan that is revised is still held
    warnings: data.warnings,
    planningWaits: "",
    sink: sinkIn(data.sink),
    steps: data.steps.map((step, index) => laidOut(step, index + 1, texts)),
  };
}

/** Further steps behind those that are there, which stay the very objects they were. Warnings are told of all anew. */
function extended(state: RunState, event: Of<"workflow.extended">): RunState {
  const { data, texts } = event;
  const known = new Set(state.steps.map((step) => step.key));
  const fresh = data.steps.filter((step) => !known.has(step.key));
  return {
    ...state,
    warnings: data.warnings,
    sink: sinkIn(data.sink),
    steps: [...state.steps, ...fresh.map((step, index) => laidOut(step, state.steps.length + index + 1, texts))],
  };
}

/** Trails from before there were others name the last step's sink, if any, in another way. */
const sinkIn = (sink: Sink | undefined): Sink =>
  sink !== undefined && (sink.kind === "vote" || sink.kind === "select") ? sink : { kind: "last" };

function laidOut(step: AdoptedStep, position: number, texts: Record<string, string>): Step {
  return {
    key: step.key,
    position,
    instruction: texts[`instruction:${step.key}`] ?? ERASED,
    worker: step.worker,
    standIn: null,
    waiting: "",
    access: step.access,
    role: step.role ?? "",
    round: step.round ?? 1,
    nested: null,
    status: "waiting",
    attempts: [],
    startedAt: null,
    endedAt: null,
    inputTokens: null,
    outputTokens: null,
    estimated: false,
    costUsd: null,
    ttftMs: null,
    durationMs: null,
    result: null,
    error: null,
    because: [],
    source: null,
    onceCostUsd: null,
    writtenBy: null,
  };
}

function changeStep(state: RunState, key: string, change: (step: Step) => Step): RunState {
  return { ...state, steps: state.steps.map((step) => (step.key === key ? change(step) : step)) };
}

function changeAttempt(step: Step, id: number | null, change: Partial<Attempt>): Step {
  return {
    ...step,
    attempts: step.attempts.map((attempt) => (attempt.id === id ? { ...attempt, ...change } : attempt)),
  };
}

function started(step: Step, event: Of<"step.started">): Step {
  const attempt: Attempt = {
    id: event.data.attempt,
    number: event.data.number,
    status: "running",
    startedAt: event.at,
    error: null,
    retryInS: null,
  };
  return {
    ...step,
    status: "running",
    worker: event.data.worker,
    waiting: "",
    nested: event.data.nested ?? null,
    attempts: [...step.attempts, attempt],
    startedAt: step.startedAt ?? event.at,
    inputTokens: event.data.input_tokens_estimate ?? null,
    estimated: true,
  };
}

function succeeded(state: RunState, event: Of<"step.succeeded">): RunState {
  const { data } = event;
  const changed = changeStep(state, data.step, (step) => ({
    ...changeAttempt(step, data.attempt, { status: "succeeded" }),
    status: "succeeded",
    endedAt: event.at,
    inputTokens: data.input_tokens,
    outputTokens: data.output_tokens,
    estimated: data.estimated,
    costUsd: added(step.costUsd, data.cost_usd),
    ttftMs: data.ttft_ms,
    durationMs: data.duration_ms,
    result: event.texts.result ?? ERASED,
  }));
  return spent(changed, { tokens: data.input_tokens + data.output_tokens, cost: data.cost_usd });
}

function reused(step: Step, event: Of<"step.reused">): Step {
  const attempt: Attempt = {
    id: event.data.attempt,
    number: step.attempts.length + 1,
    status: "reused",
    startedAt: event.at,
    error: null,
    retryInS: null,
  };
  return {
    ...step,
    status: "reused",
    attempts: [...step.attempts, attempt],
    startedAt: event.at,
    endedAt: event.at,
    outputTokens: event.data.output_tokens,
    costUsd: 0,
    result: event.texts.result ?? ERASED,
    source: event.data.source,
    onceCostUsd: money(event.data.once_cost_usd),
  };
}

/** In the place of a worker's result, or before there is one; what was paid for that stays paid. */
function written(step: Step, event: Of<"step.written">): Step {
  const attempt: Attempt = {
    id: event.data.attempt,
    number: step.attempts.length + 1,
    status: "written",
    startedAt: event.at,
    error: null,
    retryInS: null,
  };
  return {
    ...step,
    status: "written",
    attempts: [...step.attempts, attempt],
    startedAt: step.startedAt ?? event.at,
    endedAt: event.at,
    waiting: "",
    outputTokens: null,
    durationMs: null,
    result: event.texts.result ?? ERASED,
    error: null,
    writtenBy: event.actor?.label ?? "",
  };
}

function dropped(step: Step): Step {
  return step.status === "waiting" || step.status === "running" ? { ...step, status: "cancelled", waiting: "" } : step;
}
