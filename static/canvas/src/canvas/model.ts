/* What the canvas draws: cards and edges, whichever page they are from. */
import type { StepStatus } from "../live/state";
import type { WorkerLook } from "../workers";
import type { Node } from "./geometry";

export type CardState = StepStatus | "draft" | "held" | "edited";

export type Card = Node & {
  position: number;
  title: string;
  /** What its planner calls its part; empty where it does not. */
  role: string;
  state: CardState;
  worker: WorkerLook | null;
  /** In whose place that worker is asked; null where it is the step's own. */
  insteadOf: WorkerLook | null;
  /** At the right of the worker: a time, an attempt, a size. */
  meta: string;
  text: string;
  /** The run pauses before it begins. */
  hasBreakpoint?: boolean;
  /** What it says now matters more than what is odd about it. */
  isUrgent?: boolean;
  /** The stream whose tail is shown instead of `text` while it is written. */
  stream: string | null;
  problems: readonly { message: string; severity: "error" | "warning" }[];
  /** The run that the step became, where it was given to the conductor itself. */
  nest: Nest | null;
  /** Only where two runs are drawn as one. */
  difference?: Difference;
};

/** What a step or an edge of one run is beside the other run. */
export type Difference = "same" | "changed" | "outcome" | "only-a" | "only-b";

/** A run within a step: its steps carry the step's key in front of their own. */
export type Nest = { code: string; progress: string; graph: Graph };

/** What is said in the place of steps that are not there: a round that is being planned, or that added none. */
export type Note = Node & { title: string; text: string; state: CardState; stream: string | null };

export type Edge = {
  source: string;
  reader: string;
  /** Tokens that passed; null while nothing has. */
  tokens: number | null;
  /** Something has passed that nobody counted: what a person wrote. */
  isUncounted?: boolean;
  problem: string | null;
  difference?: Difference;
};

/** Where results are counted or weighed to become the answer. It is no step: nobody is asked. */
export type SinkCard = Node & {
  kind: "vote" | "select";
  over: readonly string[];
  /** Those of `over` that said what became the answer. */
  taken: readonly string[];
  state: CardState;
  meta: string;
  text: string;
  /** What was counted, the winner first; empty until there is an answer. */
  rows: readonly { label: string; share: string; isTaken: boolean }[];
};

/** The steps that one time of planning wrote. */
export type Round = {
  key: string;
  number: number;
  /** The keys of its steps, or of the note in their place. */
  members: readonly string[];
  /** What it did to the round before, in a word or two; empty in the first. */
  verdict: string;
  progress: string;
  state: CardState;
};

export type Graph = {
  cards: readonly Card[];
  edges: readonly Edge[];
  sink: SinkCard | null;
  notes: readonly Note[];
  /** Empty where there is but one. */
  rounds: readonly Round[];
};

export type Selection = { step: string | null; edge: { source: string; reader: string } | null };

export type GraphModel = Graph & { selection: Selection };

export const NO_GRAPH: Graph = { cards: [], edges: [], sink: null, notes: [], rounds: [] };
export const EMPTY: GraphModel = { ...NO_GRAPH, selection: { step: null, edge: null } };

/** The run that a key belongs to, as what its steps' keys begin with: "" or "s2/". */
export const prefixOf = (key: string): string => key.slice(0, key.lastIndexOf("/") + 1);

/** The steps around a nested one, from the outside in: "s2" and "s2/s1" for "s2/s1/s3". */
export function around(key: string): string[] {
  const names = key.split("/");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
}

export const isSink = (key: string): boolean => key.endsWith("sink:");
export const isRound = (key: string): boolean => /(?:^|\/)round:\d+$/.test(key);
export const sinkKey = (prefix: string): string => `${prefix}sink:`;
export const roundKey = (prefix: string, number: number): string => `${prefix}round:${number}`;

export const edgeId = (edge: { source: string; reader: string }): string => `${edge.source}>${edge.reader}`;

export const isSameEdge = (
  a: { source: string; reader: string } | null,
  b: { source: string; reader: string } | null,
): boolean => a?.source === b?.source && a?.reader === b?.reader;

/** 1.5 for a note, about 3.5 for a page, never more than 6. */
export const edgeWidth = (tokens: number | null): number =>
  tokens === null ? 1.4 : Math.min(6, 1.5 + Math.log2(1 + tokens / 100));

/** 0 is the step itself, 1 what it may read, 2 what shaped that; the rest is absent. */
export type Past = ReadonlyMap<string, 0 | 1 | 2>;

export function readablePast(nodes: readonly Node[], key: string): Past {
  const access = new Map(nodes.map((node) => [node.key, node.access ?? []]));
  const near = new Map<string, 0 | 1 | 2>([[key, 0]]);
  for (const source of access.get(key) ?? []) near.set(source, 1);
  const open = [...(access.get(key) ?? [])];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const source of access.get(at) ?? []) {
      if (near.has(source)) continue;
      near.set(source, 2);
      open.push(source);
    }
  }
  return near;
}

/** Steps of the longest chain of reads: what the run has to wait for. */
export function criticalLength(nodes: readonly Node[]): number {
  const length = new Map<string, number>();
  for (const node of nodes) {
    length.set(node.key, 1 + Math.max(0, ...(node.access ?? []).map((source) => length.get(source) ?? 0)));
  }
  return Math.max(0, ...length.values());
}
