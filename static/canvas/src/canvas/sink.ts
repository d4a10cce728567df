/* The sink of a run, where it is more than "the last step": what it counts, and what came of it. */
import { hasResult, type RunState } from "../live/state";
import { list } from "../numbers";
import { BEHIND_ALL } from "./geometry";
import { sinkKey, type CardState, type SinkCard } from "./model";

type Row = SinkCard["rows"][number];

const MOST_ROWS = 3;
const MOST_NAMED = 4;

/** Null where the last step answers. */
export function sinkOf(state: RunState, prefix: string): SinkCard | null {
  const { sink } = state;
  if (sink.kind === "last") return null;
  const there = state.steps.filter((step) => sink.over.includes(step.key) && hasResult(step)).length;
  const positions = state.steps.filter((step) => sink.over.includes(step.key)).map((step) => step.position);
  return {
    ...cardOf(sink.kind, sink.over.map((key) => prefix + key), prefix),
    state: stateOf(state),
    meta: metaOf(state, there, sink.over.length),
    text: wordsOf(sink, positions),
    rows: state.status === "succeeded" ? rowsOf(state) : [],
    taken: takenIn(state).map((key) => prefix + key),
  };
}

/** What a vote or a selection is, whatever is known of it. */
export function cardOf(kind: "vote" | "select", over: readonly string[], prefix: string): SinkCard {
  return { key: sinkKey(prefix), kind, access: over, round: BEHIND_ALL, over, taken: [], state: "waiting", meta: "", text: "", rows: [] };
}

export function wordsOf(sink: { kind: "vote" } | { kind: "select"; weights?: readonly number[] | null }, positions: readonly number[]): string {
  const steps = positions.length > MOST_NAMED ? `${positions.length} steps` : `step${positions.length === 1 ? "" : "s"} ${list(positions)}`;
  if (positions.length === 0) return "Counts no step yet";
  if (sink.kind === "vote") return `What most of ${steps} say`;
  return sink.weights ? `The one of ${steps} of the greatest weight` : `The one of ${steps} nearest to the others`;
}

function stateOf({ status }: RunState): CardState {
  return status === "succeeded" || status === "held" ? status : status === "failed" || status === "cancelled" ? "cancelled" : "waiting";
}

function takenIn({ answerStep, answerDetail }: RunState): readonly string[] {
  if (answerStep === null) return [];
  return Object.values(answerDetail?.counts ?? {}).find((keys) => keys.includes(answerStep)) ?? [answerStep];
}

function metaOf(state: RunState, there: number, all: number): string {
  if (state.status !== "succeeded") return `${there} of ${all} in`;
  return state.answerDetail?.tie ? "a tie: the first said" : "";
}

function rowsOf(state: RunState): Row[] {
  const { counts, weights } = state.answerDetail ?? {};
  const rows = counts ? votes(counts, state) : weights ? byWeight(weights, state) : [];
  if (rows.length <= MOST_ROWS) return rows;
  return [...rows.slice(0, MOST_ROWS - 1), { label: `${rows.length - MOST_ROWS + 1} others`, share: "", isTaken: false }];
}

function votes(counts: Readonly<Record<string, readonly string[]>>, state: RunState): Row[] {
  const all = Object.values(counts).reduce((sum, keys) => sum + keys.length, 0);
  return Object.entries(counts)
    .map(([label, keys]) => ({ label, keys, isTaken: state.answerStep !== null && keys.includes(state.answerStep) }))
    .sort((a, b) => Number(b.isTaken) - Number(a.isTaken) || b.keys.length - a.keys.length)
    .map(({ label, keys, isTaken }) => ({ label, share: `${keys.length} of ${all}`, isTaken }));
}

function byWeight(weights: Readonly<Record<string, number>>, state: RunState): Row[] {
  const position = (key: string): number | string => state.steps.find((step) => step.key === key)?.position ?? key;
  return Object.entries(weights)
    .map(([key, weight]) => ({ key, weight, isTaken: key === state.answerStep }))
    .sort((a, b) => Number(b.isTaken) - Number(a.isTaken) || b.weight - a.weight)
    .map(({ key, weight, isTaken }) => ({ label: `Step ${position(key)}`, share: weightOf(weight), isTaken }));
}

/** "0.0213", "1.4", "312": three digits that mean something. */
const weightOf = (weight: number): string => String(Number(weight.toPrecision(3)));
