/* The graph of a run, made from its state or from the plan being written. */
import type { DraftedStep } from "../draft";
import { hasResult, type RunState, type Step } from "../live/state";
import { count, list, plural, seconds } from "../numbers";
import { title } from "../title";
import { lookOf, type Workers } from "../workers";
import { criticalLength, type Card, type CardState, type Edge } from "./model";

type Graph = { cards: readonly Card[]; edges: readonly Edge[] };

export function graphOfRun(state: RunState, workers: Workers): Graph {
  const byKey = new Map(state.steps.map((step) => [step.key, step]));
  return {
    cards: state.steps.map((step) => cardOf(step, state, workers)),
    edges: state.steps.flatMap((step) =>
      step.access.map((source) => ({
        source,
        reader: step.key,
        tokens: tokensOf(byKey.get(source)),
        problem: null,
      })),
    ),
  };
}

export function graphOfDraft(steps: readonly DraftedStep[], workers: Workers): Graph {
  return {
    cards: steps.map((step) => ({
      key: step.key,
      access: step.access,
      position: step.position,
      title: step.instruction ? title(step.instruction) : "…",
      state: "draft",
      worker: step.worker === null ? null : lookOf(workers, step.worker),
      meta: "",
      text: step.access === null ? "Being planned" : readsOf(step.access, steps),
      stream: null,
      problems: [],
    })),
    edges: steps.flatMap((step) =>
      (step.access ?? []).map((source) => ({ source, reader: step.key, tokens: null, problem: null })),
    ),
  };
}

/** "5 steps · 5 access edges · critical path 3 steps" */
export function countsOf({ cards, edges }: Graph): string {
  if (cards.length === 0) return "";
  const path = criticalLength(cards);
  return [plural(cards.length, "step"), plural(edges.length, "access edge"), `critical path ${plural(path, "step")}`].join(" · ");
}

function cardOf(step: Step, state: RunState, workers: Workers): Card {
  const attempt = step.attempts.at(-1);
  return {
    key: step.key,
    access: step.access,
    position: step.position,
    title: title(step.instruction),
    state: stateOf(step, state),
    worker: lookOf(workers, step.worker),
    meta: metaOf(step),
    text: textOf(step, state.steps),
    stream: step.status === "running" && attempt?.status === "running" ? `a${attempt.id}` : null,
    problems: state.warnings
      .filter((warning) => warning.step === step.key)
      .map(({ message }) => ({ message, severity: "warning" })),
  };
}

const stateOf = (step: Step, state: RunState): CardState =>
  state.status === "held" && step.status === "waiting" ? "held" : step.status;

const tokensOf = (step: Step | undefined): number | null =>
  step !== undefined && hasResult(step) ? (step.outputTokens ?? 0) : null;

function metaOf(step: Step): string {
  if (step.status === "running") return step.attempts.length > 1 ? `attempt ${step.attempts.length}` : "";
  if (step.status === "reused") return `${count(step.outputTokens ?? 0)} tok`;
  return step.durationMs === null ? "" : seconds(step.durationMs);
}

function textOf(step: Step, steps: readonly Step[]): string {
  const attempt = step.attempts.at(-1);
  switch (step.status) {
    case "waiting":
      return readsOf(step.access, steps);
    case "running":
      return attempt?.status === "failed" ? (attempt.error ?? "Trying again") : "Waiting for the first token";
    case "succeeded":
    case "reused":
      return oneLine(step.result ?? "") || "An empty result";
    case "failed":
      return oneLine(step.error ?? "") || "Failed";
    case "skipped":
      return `Skipped because of step ${list(positions(step.because, steps))}`;
    case "cancelled":
      return step.attempts.length > 0 ? "Cut off by the stop" : "Not run";
  }
}

type Positioned = readonly { key: string; position: number }[];

const readsOf = (access: readonly string[], steps: Positioned): string =>
  access.length === 0 ? "Reads the task alone" : `Reads ${list(positions(access, steps))}`;

const positions = (keys: readonly string[], steps: Positioned): number[] =>
  steps.filter((step) => keys.includes(step.key)).map((step) => step.position);

const oneLine = (text: string): string =>
  text
    .slice(0, 400)
    .replace(/[#*_`>|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
