/* The workflow being edited, as the server last wrote it into the page, and what may be done to it. */
import { isSink, type Graph, type SinkCard } from "../canvas/model";
import { roundsOf } from "../canvas/rounds";
import { cardOf, wordsOf } from "../canvas/sink";
import type { Sink } from "../live/events";
import { isInTurns } from "../live/state";
import { list } from "../numbers";
import { title } from "../title";
import { lookOf, readJson, type Workers } from "../workers";

export type DocumentStep = {
  key: string;
  instruction: string;
  worker: string;
  access: string[];
  role: string;
  round: number;
};
export type Problem = {
  code: string;
  message: string;
  step: string | null;
  edge: [source: string, reader: string] | null;
  severity: "error" | "warning";
};
export type Document = {
  workflow: { steps: DocumentStep[]; sink: Sink };
  problems: Problem[];
  pool: string[];
  /** Steps whose recorded result would be taken again; absent where nothing was run before. */
  recorded?: Record<string, unknown>;
  /** What each step that runs will likely cost, in words. */
  costs?: Record<string, string>;
};

const EMPTY: Document = { workflow: { steps: [], sink: { kind: "last" } }, problems: [], pool: [] };

export const readDocument = (): Document => readJson<Document>("draft") ?? EMPTY;

export function graphOf(document: Document, workers: Workers): Graph {
  const { steps } = document.workflow;
  const cards = steps.map((step, index): Graph["cards"][number] => ({
    key: step.key,
    access: step.access,
    round: isInTurns("saved", steps) ? 1 : step.round,
    position: index + 1,
    title: title(step.instruction),
    role: step.role,
    state: document.recorded?.[step.key] ? "reused" : "edited",
    worker: step.worker === "" ? null : lookOf(workers, step.worker),
    insteadOf: null,
    meta: document.recorded?.[step.key] ? "recorded" : (document.costs?.[step.key] ?? ""),
    text: readsOf(document, step),
    stream: null,
    problems: problemsOf(document, step.key),
    nest: null,
  }));
  return {
    cards,
    edges: steps.flatMap((step) =>
      step.access.map((source) => ({
        source,
        reader: step.key,
        tokens: document.recorded?.[source] ? 0 : null,
        problem: edgeProblem(document, source, step.key),
      })),
    ),
    sink: sinkOf(document),
    notes: [],
    rounds: roundsOf(cards),
  };
}

function sinkOf(document: Document): SinkCard | null {
  const { sink, steps } = document.workflow;
  if (sink.kind === "last") return null;
  const over = sink.over.filter((key) => indexOf(document, key) >= 0);
  const positions = steps.flatMap((step, index) => (over.includes(step.key) ? [index + 1] : []));
  return { ...cardOf(sink.kind, over, ""), state: "edited", text: wordsOf(sink, positions) };
}

/** Problems that belong to no step and no edge. */
export const ofTheWhole = (document: Document): Problem[] =>
  document.problems.filter((problem) => problem.step === null && problem.edge === null);

export const indexOf = (document: Document, key: string): number =>
  document.workflow.steps.findIndex((step) => step.key === key);

/** What speaks against `reader` reading `source`, for the person who tries; null when nothing does. */
export function whyNot(document: Document, reader: string, source: string): string | null {
  if (isSink(reader)) return counts(document, source) ? `Step ${indexOf(document, source) + 1} is counted already.` : null;
  const [from, to] = [indexOf(document, source), indexOf(document, reader)];
  if (from === to) return "A step cannot read itself.";
  if (from > to) return `Step ${to + 1} comes before step ${from + 1} and cannot read it: move it later first.`;
  if (document.workflow.steps[to]?.access.includes(source)) return `Step ${to + 1} reads step ${from + 1} already.`;
  return null;
}

/** Whether the sink takes the result of `key` into account. */
export function counts(document: Document, key: string): boolean {
  const { sink } = document.workflow;
  return sink.kind !== "last" && sink.over.includes(key);
}

/** The positions, counted from 1, of the steps that read `key`. */
export function readersOf(document: Document, key: string): number[] {
  return document.workflow.steps.flatMap((step, index) => (step.access.includes(key) ? [index + 1] : []));
}

/** What removing `key` takes from others, or null when nobody reads it and no sink counts it. */
export function lossOf(document: Document, key: string): string | null {
  const readers = readersOf(document, key);
  const who = readers.length === 1 ? `Step ${readers[0]} reads it and loses` : `Steps ${list(readers)} read it and lose`;
  const said = [
    ...(readers.length > 0 ? [`${who} what it says.`] : []),
    ...(counts(document, key) ? [`The ${document.workflow.sink.kind === "vote" ? "vote" : "selection"} no longer counts it.`] : []),
  ];
  return said.length === 0 ? null : said.join(" ");
}

/** Who is selected once `key` is gone: the step after it, or the one before. */
export function heirOf(document: Document, key: string): string | null {
  const { steps } = document.workflow;
  const index = indexOf(document, key);
  return (steps[index + 1] ?? steps[index - 1])?.key ?? null;
}

function readsOf(document: Document, step: DocumentStep): string {
  const positions = step.access.map((source) => indexOf(document, source) + 1).filter((position) => position > 0);
  return positions.length === 0 ? "Reads the task alone" : `Reads ${list(positions.sort((a, b) => a - b))}`;
}

/** Its own, and those of what it reads: a card has more room for words than an edge. */
const problemsOf = (document: Document, key: string): Problem[] =>
  document.problems.filter(({ step, edge }) => (edge === null ? step === key : edge[1] === key));

function edgeProblem(document: Document, source: string, reader: string): string | null {
  const found = document.problems.find(({ edge }) => edge !== null && edge[0] === source && edge[1] === reader);
  return found?.message ?? null;
}
