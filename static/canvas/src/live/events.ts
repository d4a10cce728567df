/* What a run's trail says, as it comes over the socket: one sealed event each, in order. */

export type Actor = { kind: "person" | "driver" | "system"; label: string };

type Sealed<Verb extends string, Data, Texts = Record<string, string>> = {
  seq: number;
  at: string;
  verb: Verb;
  actor?: Actor;
  data: Data;
  texts: Texts;
};

/** `role` and `round` are absent in trails from before there were any. */
export type AdoptedStep = { key: string; worker: string; access: string[]; role?: string; round?: number };
/** How the answer is taken from the results. */
export type Sink =
  | { kind: "last" }
  | { kind: "vote"; over: readonly string[] }
  | { kind: "select"; over: readonly string[]; weights?: readonly number[] | null };
/** The votes by the number of an answer, which is a text “vote:1”, or the weights by step: whichever the sink came to. */
export type AnswerDetail = { counts?: Record<string, string[]>; tie?: boolean; weights?: Record<string, number> };
export type Verdict = "kept" | "changed";
export type Warning = { code: string; message: string; step: string | null };
type OfAttempt = { step: string; attempt: number };
type Money = string | null;
/** Why a call is not made yet, and in words for people; `until` only where that is known. */
export type Wait = { words: string; why: string; ahead: number; until: string | null };
/** A limit of money that a call could cross: sums in USD, as texts. */
export type Limit = {
  account: string;
  label: string;
  limit_usd: string;
  spent_usd: string;
  reserved_usd: string;
  needed_usd: string;
};
type Planned = {
  proposal: number;
  number: number;
  round?: number;
  verdict?: Verdict | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: Money;
  duration_ms: number;
};

export type RunEvent =
  | Sealed<
      "run.submitted",
      {
        profile: string | null;
        planner: string;
        pool: string[];
        max_steps: number;
        rounds?: number;
        review?: boolean;
        parent?: string | null;
        seed?: number;
        nested_in?: { run: string; step: string; attempt: number };
      },
      { task?: string }
    >
  | Sealed<"run.claimed", { driver: string }>
  | Sealed<"run.takenover", { driver: string; lost: string | null }>
  | Sealed<"run.released", { claim: number }>
  | Sealed<"planning.started", { proposal: number; number: number; round?: number; conductor: string | null }>
  | Sealed<"planning.waiting", Wait & { conductor: string }>
  | Sealed<"planning.failed", Planned, { raw?: string; error?: string }>
  | Sealed<"planning.done", Planned, { raw?: string }>
  | Sealed<"planning.cut" | "planning.lost", { proposal: number; number: number }>
  | Sealed<"embedding.done" | "embedding.failed", { worker: string; input_tokens: number; cost_usd: Money }, { error?: string }>
  | Sealed<"planning.fellback", { from: string; to: string }, { reason?: string }>
  | Sealed<"run.noticed", Record<string, never>, { reason?: string }>
  | Sealed<
      "workflow.adopted",
      { by: "planner" | "person" | "fork" | "review"; warnings: Warning[]; steps: AdoptedStep[]; sink?: Sink },
      Record<string, string>
    >
  | Sealed<
      "workflow.extended",
      { by: "planner"; warnings: Warning[]; steps: AdoptedStep[]; sink?: Sink },
      Record<string, string>
    >
  | Sealed<
      "step.started",
      OfAttempt & { number: number; worker: string; input_tokens_estimate?: number | null; nested?: string }
    >
  | Sealed<"step.waiting", Wait & { step: string; worker: string }>
  | Sealed<"step.fellback", { step: string; from: string; to: string; kind: string }, { reason?: string }>
  | Sealed<
      "attempt.failed",
      OfAttempt & { number: number; kind: string; retryable: boolean; retry_in_s: number | null; duration_ms: number },
      { error?: string }
    >
  | Sealed<
      "step.succeeded",
      OfAttempt & {
        input_tokens: number;
        output_tokens: number;
        estimated: boolean;
        cost_usd: Money;
        ttft_ms: number | null;
        duration_ms: number;
      },
      { result?: string }
    >
  | Sealed<
      "step.reused",
      OfAttempt & {
        source: { run: string; attempt: number };
        once_cost_usd: Money;
        output_tokens: number;
      },
      { result?: string }
    >
  | Sealed<"step.written", OfAttempt & { was: string }, { result?: string; before?: string; reason?: string }>
  | Sealed<"step.failed", { step: string; attempt: number | null; kind: string }, { error?: string }>
  | Sealed<"step.skipped", { step: string; because: string[] }>
  | Sealed<"attempt.cut", OfAttempt & { chars: number }>
  | Sealed<"attempt.late", OfAttempt & { input_tokens?: number; output_tokens: number; cost_usd: Money }>
  | Sealed<"attempt.lost", OfAttempt>
  | Sealed<"run.stopped", { cutting: string[]; with?: string }>
  | Sealed<
      "run.succeeded",
      { rule: string; step: string; detail?: AnswerDetail; duration_ms: number; cost_usd: Money; tokens: number },
      { answer?: string; [vote: `vote:${number}`]: string }
    >
  | Sealed<"run.failed", { step: string | null; code: string }, { error?: string }>
  | Sealed<"run.pausing", Record<string, never>>
  | Sealed<"run.breakpoints", { steps: string[] }>
  | Sealed<
      "run.held",
      {
        reason: string;
        step?: string | null;
        steps?: string[];
        breakpoint?: string;
        limit?: Limit;
        rules?: Forbidden[];
        within?: string[];
      }
    >
  | Sealed<"run.excepted", { rules: Forbidden[] }, { reason?: string }>
  | Sealed<"run.rejected", Record<string, never>, { reason?: string }>
  | Sealed<"run.resumed", { limit_usd: string | null }, { reason?: string }>
  | Sealed<"run.approved", Record<string, never>>
  | Sealed<"run.forked", { child: string }>;

/** What a flow rule holds a run for: a model that would read what carries a tag, and the way by which it would. */
export type Forbidden = { run: string; carries: string; needs: string; reader: string; model: string; path: string[] };

export type Verb = RunEvent["verb"];

/** A step of a plan that is still being written. Positions are those of the sender, counted from 0 or from 1. */
export type DraftStep = {
  position: number;
  instruction: string | null;
  worker: string | null;
  access: number[] | null;
};

/** [stream, offset in code points, text] */
export type Delta = [stream: string, offset: number, text: string];

export type Frame =
  | { t: "events"; events: RunEvent[]; head: number }
  | { t: "deltas"; deltas: Delta[] }
  | { t: "text"; stream: string; from: number; text: string }
  | { t: "draft"; proposal: number; steps: DraftStep[] }
  | { t: "closed"; reason: string };

const KINDS = new Set(["events", "deltas", "text", "draft", "closed"]);

/** The frame in `data`, or null when it is none we know: a newer server may say more than we understand. */
export function readFrame(data: unknown): Frame | null {
  if (typeof data !== "string") return null;
  try {
    const value = JSON.parse(data) as { t?: unknown } | null;
    return value !== null && typeof value === "object" && KINDS.has(String(value.t)) ? (value as Frame) : null;
  } catch {
    return null;
  }
}
