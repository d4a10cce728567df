/* The state of a run as a viewer knows it: plain data, a function of the events seen so far. */
import type { AnswerDetail, Forbidden, Sink, Verdict, Warning } from "./events";

export type RunStatus = "queued" | "planning" | "held" | "running" | "succeeded" | "failed" | "cancelled";
export type StepStatus = "waiting" | "running" | "succeeded" | "reused" | "written" | "failed" | "skipped" | "cancelled";
export type AttemptStatus = "running" | "succeeded" | "reused" | "written" | "failed" | "cut" | "late" | "lost";

export type Attempt = {
  id: number;
  number: number;
  status: AttemptStatus;
  startedAt: string;
  error: string | null;
  retryInS: number | null;
};

/** That `to` is asked in the place of `from`, and why. */
export type StandIn = { from: string; to: string; kind: string; reason: string };

export type Step = {
  key: string;
  /** Counted from 1, as people do. */
  position: number;
  instruction: string;
  /** Who is asked: whom the workflow names, or who stands in. */
  worker: string;
  standIn: StandIn | null;
  /** Why its call is not made yet, in words; empty once it is, and where nothing keeps it. */
  waiting: string;
  access: readonly string[];
  /** What its planner calls its part ("thinker"); empty where it does not. */
  role: string;
  /** Which time of planning wrote it, from 1. */
  round: number;
  /** The run that this step became, where it was given to the conductor itself. */
  nested: string | null;
  status: StepStatus;
  attempts: readonly Attempt[];
  startedAt: string | null;
  endedAt: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** The token counts are ours, not the provider's. */
  estimated: boolean;
  /** Null while nothing was billed, or where the price is not known. */
  costUsd: number | null;
  ttftMs: number | null;
  durationMs: number | null;
  /** The beginning of the result: whole texts are fetched as HTML. */
  result: string | null;
  error: string | null;
  /** The steps whose failure this one was skipped for. */
  because: readonly string[];
  source: { run: string; attempt: number } | null;
  onceCostUsd: number | null;
  /** The person whose text its result is; null where a worker answered. */
  writtenBy: string | null;
};

export type Planning = {
  proposal: number;
  number: number;
  round: number;
  /** What it did to the round before, once it is known; null in the first. */
  verdict: Verdict | null;
  status: "running" | "done" | "failed";
  conductor: string | null;
  startedAt: string;
  tokens: number;
  costUsd: number | null;
  durationMs: number | null;
};

export type RunState = {
  /** The event up to which this holds; 0 before the first. */
  seq: number;
  status: RunStatus;
  task: string;
  profile: string | null;
  planner: string;
  pool: readonly string[];
  /** How many times the planner may plan. */
  rounds: number;
  /** The step of another run that this one is carried out for. */
  nestedIn: { run: string; step: string } | null;
  parent: string | null;
  children: readonly string[];
  steps: readonly Step[];
  planning: readonly Planning[];
  /** Why the planner's model is not asked yet, in words. */
  planningWaits: string;
  warnings: readonly Warning[];
  sink: Sink;
  /** What people must know of the planning, such as that another planner stood in. */
  notices: readonly string[];
  adoptedBy: "planner" | "person" | "fork" | "review" | null;
  submittedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** Tokens in and out that were billed, planning included. */
  tokens: number;
  /** What is known to have been spent; see `unpriced`. */
  costUsd: number;
  /** Some calls had no known price, so `costUsd` is only a part. */
  unpriced: boolean;
  /** "review", "limit", "pause" or "rules". */
  heldFor: string | null;
  /** The step that was to begin when the run was held. */
  heldAt: string | null;
  /** The step before which it was to pause; null where a person paused the whole run. */
  brokeAt: string | null;
  /** What flow rules hold it for, of its own steps. */
  forbidden: readonly Forbidden[];
  /** Somebody has paused it, and what is under way ends yet. */
  pausing: boolean;
  /** The steps before which it pauses. */
  breakpoints: readonly string[];
  /** Who said no to the plan, and why. */
  rejected: { by: string; reason: string } | null;
  answer: string | null;
  answerStep: string | null;
  answerRule: string | null;
  answerDetail: AnswerDetail | null;
  error: string | null;
};

export const NOTHING: RunState = {
  seq: 0,
  status: "queued",
  task: "",
  profile: null,
  planner: "",
  pool: [],
  rounds: 1,
  nestedIn: null,
  parent: null,
  children: [],
  steps: [],
  planning: [],
  planningWaits: "",
  warnings: [],
  sink: { kind: "last" },
  notices: [],
  adoptedBy: null,
  submittedAt: null,
  startedAt: null,
  endedAt: null,
  tokens: 0,
  costUsd: 0,
  unpriced: false,
  heldFor: null,
  heldAt: null,
  brokeAt: null,
  forbidden: [],
  pausing: false,
  breakpoints: [],
  rejected: null,
  answer: null,
  answerStep: null,
  answerRule: null,
  answerDetail: null,
  error: null,
};

export const isOver = (status: RunStatus): boolean =>
  status === "succeeded" || status === "failed" || status === "cancelled";

const DONE: ReadonlySet<StepStatus> = new Set(["succeeded", "reused", "written"]);

export const hasResult = (step: Step): boolean => DONE.has(step.status);

export const stepOf = (state: RunState, key: string | null): Step | undefined =>
  state.steps.find((step) => step.key === key);

/** The round that is being planned this moment; null while none is. */
export const planningRound = (state: RunState): number | null =>
  state.planning.findLast((entry) => entry.status === "running")?.round ?? null;

/**
 * Whether each round is one more step, as TRINITY takes its turns, and not a group of them. Of a workflow that nobody
 * planned anew only its shape tells.
 */
export function isInTurns(planner: string, steps: readonly { round: number }[]): boolean {
  const rounds = new Set(steps.map((step) => step.round)).size;
  return planner === "trinity" || (planner === "saved" && rounds > 1 && rounds === steps.length);
}
