/* What the canvas draws: cards and edges, whichever page they are from. */
import type { StepStatus } from "../live/state";
import type { WorkerLook } from "../workers";
import type { Node } from "./geometry";

export type CardState = StepStatus | "draft" | "held" | "edited";

export type Card = Node & {
  position: number;
  title: string;
  state: CardState;
  worker: WorkerLook | null;
  /** At the right of the worker: a time, an attempt, a size. */
  meta: string;
  text: string;
  /** The stream whose tail is shown instead of `text` while it is written. */
  stream: string | null;
  problems: readonly { message: string; severity: "error" | "warning" }[];
};

export type Edge = {
  source: string;
  reader: string;
  /** Tokens that passed; null while nothing has. */
  tokens: number | null;
  problem: string | null;
};

export type Selection = { step: string | null; edge: { source: string; reader: string } | null };

export type GraphModel = {
  cards: readonly Card[];
  edges: readonly Edge[];
  selection: Selection;
};

export const EMPTY: GraphModel = { cards: [], edges: [], selection: { step: null, edge: null } };

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
