/* The graph as React Flow wants it: nodes and edges for all that is seen, the insides of unfolded runs among them. */
import type { Edge as FlowEdge, Node as FlowNode } from "@xyflow/react";
import type { Boxes, Box } from "./geometry";
import { seenAs } from "./level";
import { edgeId, type Card, type Edge, type Graph, type Note, type Round, type SinkCard } from "./model";

/** Of a step, as a card or as the frame around the run that it became. */
export type StepNodeData = { card: Card; isRead: boolean };
export type RoundNodeData = { round: Round; isOpen: boolean };
export type NoteNodeData = { note: Note };
export type SinkNodeData = { sink: SinkCard };
/** The edge that is drawn, with what it says; `isWhole` where it stands for no other than itself. */
export type Drawn = Edge & { what: string; isWhole: boolean };
export type Counted = { source: string; isTaken: boolean; what: string };

type Openness = { isOpen(key: string): boolean };

/** Frames lie under the edges, those of rounds under those of the runs within them. */
const UNDER = { round: -2, nest: -1 } as const;

export function nodesOf(graph: Graph, boxes: Boxes, folds: Openness): FlowNode[] {
  const read = new Set([...graph.edges.map((edge) => edge.source), ...(graph.sink?.over ?? [])]);
  const seen = <T extends { key: string }>(items: readonly T[]): [T, Box][] =>
    items.flatMap((item) => {
      const box = boxes.get(item.key);
      return box === undefined ? [] : [[item, box]];
    });
  return [
    ...seen(graph.rounds).map(([round, box]) => roundNode(round, box, folds.isOpen(round.key))),
    ...seen(graph.cards).flatMap(([card, box]) => {
      const data: StepNodeData = { card, isRead: read.has(card.key) };
      if (card.nest === null || !folds.isOpen(card.key)) return [node(card.key, "step", box, data)];
      return [frame(card.key, "nest", box, data), ...nodesOf(card.nest.graph, boxes, folds)];
    }),
    ...seen(graph.notes).map(([note, box]) => still(node(note.key, "note", box, { note } satisfies NoteNodeData))),
    ...seen(graph.sink === null ? [] : [graph.sink]).map(([sink, box]) =>
      node(sink.key, "sink", box, { sink } satisfies SinkNodeData),
    ),
  ];
}

export function edgesOf(graph: Graph, boxes: Boxes, folds: Openness): FlowEdge[] {
  const inside = graph.cards.flatMap((card) =>
    card.nest !== null && folds.isOpen(card.key) && boxes.has(card.key) ? edgesOf(card.nest.graph, boxes, folds) : [],
  );
  return [...readEdges(graph, boxes), ...countEdges(graph, boxes), ...inside];
}

/** Each edge between what is seen of its ends; of several that come to the same, one. */
function readEdges(graph: Graph, boxes: Boxes): FlowEdge[] {
  const seen = seenAs(graph, boxes);
  const drawn = new Map<string, FlowEdge>();
  for (const edge of graph.edges) {
    const [source, target] = [seen(edge.source), seen(edge.reader)];
    if (source === undefined || target === undefined || source === target) continue;
    const isWhole = source === edge.source && target === edge.reader;
    const id = edgeId({ source, reader: target });
    const before = drawn.get(id)?.data as Drawn | undefined;
    const tokens = before === undefined ? edge.tokens : sum(before.tokens, edge.tokens);
    const what = `${nameOf(graph, target)} may read ${nameOf(graph, source).toLowerCase()}`;
    drawn.set(id, { id, type: "access", source, target, data: { ...edge, tokens, what, isWhole } satisfies Drawn });
  }
  return [...drawn.values()];
}

function countEdges(graph: Graph, boxes: Boxes): FlowEdge[] {
  const { sink } = graph;
  if (sink === null || !boxes.has(sink.key)) return [];
  const seen = seenAs(graph, boxes);
  const sources = new Map<string, boolean>();
  for (const key of sink.over) {
    const source = seen(key);
    if (source !== undefined) sources.set(source, sources.get(source) === true || sink.taken.includes(key));
  }
  return [...sources].map(([source, isTaken]) => ({
    id: edgeId({ source, reader: sink.key }),
    type: "count",
    source,
    target: sink.key,
    data: { source, isTaken, what: `${nameOf(graph, source)} is counted` } satisfies Counted,
  }));
}

const sum = (a: number | null, b: number | null): number | null => (a === null || b === null ? (a ?? b) : a + b);

function nameOf(graph: Graph, key: string): string {
  const card = graph.cards.find((each) => each.key === key);
  return card === undefined ? `Round ${graph.rounds.find((round) => round.key === key)?.number ?? ""}` : `Step ${card.position}`;
}

function node(id: string, type: string, { x, y, width, height }: Box, data: Record<string, unknown>): FlowNode {
  const isNested = id.includes("/");
  return { id, type, position: { x, y }, width, height, measured: { width, height }, data, draggable: !isNested };
}

const still = (made: FlowNode): FlowNode => ({ ...made, draggable: false });

/** Under the edges; it is taken by its head, and the rest of it is as the ground it lies on. */
const frame = (id: string, type: "nest" | "round", box: Box, data: Record<string, unknown>): FlowNode => ({
  ...node(id, type, box, data),
  zIndex: UNDER[type],
  style: { pointerEvents: "none" },
});

function roundNode(round: Round, box: Box, isOpen: boolean): FlowNode {
  const data: RoundNodeData = { round, isOpen };
  return still(isOpen ? frame(round.key, "round", box, data) : node(round.key, "round", box, data));
}
