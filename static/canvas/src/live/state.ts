/* The state of a run as a viewer knows it: plain data, a function of the events seen so far. */
import type { Warning } from "./events";

export type RunStatus = "queued" | "planning" | "held" | "running" | "succeeded" | "failed" | "cancelled";
export type StepStatus = "waiting" | "running" | "succeeded" | "reused" | "failed" | "skipped" | "cancelled";
export type AttemptStatus = "running" | "succeeded" | "reused" | "failed" | "cut" | "late" | "lost";

export type Attempt = {
  id: number;
  number: number;
  status: AttemptStatus;
  startedAt: string;
  error: string | null;
  retryInS: number | null;
};

export type Step = {
  key: string;
  /** Counted from 1, as people do. */
  position: number;
  instruction: string;
  worker: string;
  access: readonly string[];
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
};

export type Planning = {
  proposal: number;
  number: number;
  status: "running" | "done" | "failed";
  conductor: string | null;
  startedAt: string;
  problems: readonly string[];
  repairs: readonly string[];
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
  parent: string | null;
  children: readonly string[];
  steps: readonly Step[];
  planning: readonly Planning[];
  warnings: readonly Warning[];
  adoptedBy: "planner" | "person" | "fork" | null;
  submittedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** Tokens in and out that were billed, planning included. */
  tokens: number;
  /** What is known to have been spent; see `unpriced`. */
  costUsd: number;
  /** Some calls had no known price, so `costUsd` is only a part. */
  unpriced: boolean;
  heldFor: string | null;
  answer: string | null;
  answerStep: string | null;
  error: string | null;
};

export const NOTHING: RunState = {
  seq: 0,
  status: "queued",
  task: "",
  profile: null,
  planner: "",
  pool: [],
  parent: null,
  children: [],
  steps: [],
  planning: [],
  warnings: [],
  adoptedBy: null,
  submittedAt: null,
  startedAt: null,
  endedAt: null,
  tokens: 0,
  costUsd: 0,
  unpriced: false,
  heldFor: null,
  answer: null,
  answerStep: null,
  error: null,
};

export const isOver = (status: RunStatus): boolean =>
  status === "succeeded" || status === "failed" || status === "cancelled";

export const hasResult = (step: Step): boolean => step.status === "succeeded" || step.status === "reused";

export const stepOf = (state: RunState, key: string | null): Step | undefined =>
  state.steps.find((step) => step.key === key);
