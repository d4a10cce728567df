/* The graph of a run, made from its state and from the plan being written; those of the runs nested in it within. */
import { drafted, type DraftedStep } from "../draft";
import type { Forbidden } from "../live/events";
import type { Draft } from "../live/session";
import { hasResult, isInTurns, type RunState, type Step } from "../live/state";
import { capitalised, count, list, plural, seconds } from "../numbers";
import { title } from "../title";
import { lookOf, type Workers } from "../workers";
import { criticalLength, type Card, type CardState, type Edge, type Graph, type Nest } from "./model";
import { draftRound, notesOf, roundsOf, verdictIn, waitingNote } from "./rounds";
import { sinkOf } from "./sink";

/** What is known of a run. */
export type View = { state: RunState; draft: Draft | null };

/** What drawing a run needs beside it: the looks of the workers, and the runs that are nested in it, by code. */
export type Sight = { workers: Workers; inside: (code: string) => View | undefined };

/** The graph of a run; of one that is nested, `prefix` stands before all its keys. */
export function graphOf({ state, draft }: View, sight: Sight, prefix = ""): Graph {
  const planned = draft === null ? [] : drafted(draft.steps, state.steps.map((step) => step.key));
  const round = draftRound(state, draft);
  const cards = [
    ...state.steps.map((step) => cardOf(step, state, sight, prefix)),
    ...planned.map((step) => draftCard(step, planned, { round, workers: sight.workers, prefix })),
  ];
  const notes = notesOf(state, cards, prefix);
  const rounds = roundsOf(cards, notes, prefix, (number) => verdictIn(state, number));
  return {
    cards,
    edges: [...edgesOf(state, prefix), ...planned.flatMap((step) => draftEdges(step, prefix))],
    sink: sinkOf(state, prefix),
    notes,
    rounds,
  };
}

/** "5 steps · 5 access edges · critical path 3 steps" */
export function countsOf({ cards, edges, rounds }: Graph): string {
  if (cards.length === 0) return "";
  return [
    ...(rounds.length > 0 ? [plural(rounds.length, "round")] : []),
    plural(cards.length, "step"),
    plural(edges.length, "access edge"),
    `critical path ${plural(criticalLength(cards), "step")}`,
  ].join(" · ");
}

/** "2 of 3 steps" */
export function progressOf(view: View | undefined): string {
  if (view === undefined) return "a run of its own";
  const { steps, status } = view.state;
  if (steps.length === 0) return status === "queued" ? "not begun" : status === "planning" ? "being planned" : "no steps";
  return `${steps.filter(hasResult).length} of ${plural(steps.length, "step")}`;
}

function cardOf(step: Step, state: RunState, sight: Sight, prefix: string): Card {
  const attempt = step.attempts.at(-1);
  const key = prefix + step.key;
  return {
    key,
    access: step.access.map((source) => prefix + source),
    round: isInTurns(state.planner, state.steps) ? 1 : step.round,
    position: step.position,
    title: title(step.instruction),
    role: step.role,
    state: stateOf(step, state),
    worker: lookOf(sight.workers, step.worker),
    insteadOf: step.standIn === null ? null : lookOf(sight.workers, step.standIn.from),
    meta: metaOf(step),
    text: textOf(step, state, sight),
    hasBreakpoint: state.breakpoints.includes(step.key),
    isUrgent: step.waiting !== "" || isHeldAt(step, state),
    stream: step.status === "running" && attempt?.status === "running" ? `a${attempt.id}` : null,
    problems: [
      ...state.forbidden.filter((each) => each.reader === step.key).map((each) => forbiddenIn(each, sight)),
      ...state.warnings
        .filter((warning) => warning.step === step.key)
        .map(({ message }) => ({ message, severity: "warning" as const })),
    ],
    nest: step.nested === null ? null : nestOf(step.nested, key, sight),
  };
}

function forbiddenIn({ carries, needs, model }: Forbidden, { workers }: Sight): Card["problems"][number] {
  const who = lookOf(workers, model).name;
  return { message: `${who} may not read what is ${carries}: it is not ${needs}`, severity: "error" };
}

/** What a rule says of the text that would pass from `source` to `reader` on its way; null where none does. */
function forbiddenOn(state: RunState, source: string, reader: string): string | null {
  const found = state.forbidden.find(({ path }) => path.some((key, at) => key === source && path[at + 1] === reader));
  return found === undefined ? null : `What is ${found.carries} would go this way to a model that is not ${found.needs}`;
}

function nestOf(code: string, key: string, sight: Sight): Nest {
  const view = sight.inside(code);
  const graph = view === undefined ? null : graphOf(view, sight, `${key}/`);
  const isEmpty = graph === null || (graph.cards.length === 0 && graph.notes.length === 0);
  return { code, progress: progressOf(view), graph: isEmpty ? waitingNote(view?.state, `${key}/`) : graph };
}

function edgesOf(state: RunState, prefix: string): Edge[] {
  const byKey = new Map(state.steps.map((step) => [step.key, step]));
  return state.steps.flatMap((step) =>
    step.access.map((source) => ({
      source: prefix + source,
      reader: prefix + step.key,
      tokens: tokensOf(byKey.get(source)),
      isUncounted: byKey.get(source)?.status === "written",
      problem: forbiddenOn(state, source, step.key),
    })),
  );
}

type Drawing = { round: number; workers: Workers; prefix: string };

function draftCard(step: DraftedStep, steps: readonly DraftedStep[], { round, workers, prefix }: Drawing): Card {
  return {
    key: prefix + step.key,
    access: step.access?.map((source) => prefix + source) ?? null,
    round,
    position: step.position,
    title: step.instruction ? title(step.instruction) : "…",
    role: "",
    state: "draft",
    worker: step.worker === null ? null : lookOf(workers, step.worker),
    insteadOf: null,
    meta: "",
    text: step.access === null ? "Being planned" : readsOf(step.access, steps),
    stream: null,
    problems: [],
    nest: null,
  };
}

const draftEdges = (step: DraftedStep, prefix: string): Edge[] =>
  (step.access ?? []).map((source) => ({
    source: prefix + source,
    reader: prefix + step.key,
    tokens: null,
    problem: null,
  }));

const stateOf = (step: Step, state: RunState): CardState =>
  state.status === "held" && step.status === "waiting" ? "held" : step.status;

const tokensOf = (step: Step | undefined): number | null =>
  step !== undefined && hasResult(step) && step.status !== "written" ? (step.outputTokens ?? 0) : null;

function metaOf(step: Step): string {
  if (step.status === "running") return step.attempts.length > 1 ? `attempt ${step.attempts.length}` : "";
  if (step.status === "written") return "by hand";
  if (step.status === "reused") return `${count(step.outputTokens ?? 0)} tok`;
  return step.durationMs === null ? "" : seconds(step.durationMs);
}

const isHeldAt = (step: Step, { status, heldAt, heldFor }: RunState): boolean =>
  status === "held" && heldAt === step.key && heldFor !== "rules"; // which the card tells as its problem

function textOf(step: Step, state: RunState, sight: Sight): string {
  const { steps } = state;
  const attempt = step.attempts.at(-1);
  switch (step.status) {
    case "waiting":
      if (isHeldAt(step, state)) return heldBefore(step, state);
      if (step.waiting === "" && state.breakpoints.includes(step.key)) return "The run pauses before it";
      return capitalised(step.waiting) || readsOf(step.access, steps);
    case "running":
      if (step.waiting !== "") return capitalised(step.waiting);
      if (step.nested !== null) return `A run of its own: ${progressOf(sight.inside(step.nested))}`;
      return attempt?.status === "failed" ? (attempt.error ?? "Trying again") : "Waiting for the first token";
    case "succeeded":
    case "reused":
      return oneLine(step.result ?? "") || "An empty result";
    case "written":
      return `By ${step.writtenBy || "a person"}: ${oneLine(step.result ?? "")}`;
    case "failed":
      return oneLine(step.error ?? "") || "Failed";
    case "skipped":
      return `Skipped because of step ${list(positions(step.because, steps))}`;
    case "cancelled":
      return step.attempts.length > 0 ? "Cut off by the stop" : "Not run";
  }
}

function heldBefore(step: Step, { heldFor, brokeAt }: RunState): string {
  if (heldFor !== "pause") return "Held: its call could cross a limit";
  return brokeAt === step.key ? "Held: a breakpoint is set before it" : "Held: the run is paused";
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
