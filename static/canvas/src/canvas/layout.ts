/*
 * A whole graph at once, layered left to right by dagre, and round after round.
 *
 * A step's layer is its wave: it stands right of all that it reads and no further, so that what can run side by side
 * stands in one column.
 */
import { Graph, layout, type GraphLabel, type LayoutOptions, type OrderConstraint } from "@dagrejs/dagre";
import { GAP_X, GAP_Y, HEIGHT, ROUND_GAP, WIDTH, cardAt, hull, type Node, type Places, type Point } from "./geometry";

/** Top left corners of the cards of `nodes`: each round in layers, right of the round before it. */
export function layered(nodes: readonly Node[]): Places {
  const places = new Map<string, Point>();
  let last: { right: number; middle: number } | null = null;
  for (const members of byRound(nodes)) {
    const block = inLayers(members);
    const box = hull([...block.values()].map(cardAt));
    if (box === null) continue;
    const dx: number = last === null ? 0 : last.right + ROUND_GAP - box.x;
    const dy: number = last === null ? 0 : Math.round(last.middle - box.y - box.height / 2);
    for (const [key, { x, y }] of block) places.set(key, { x: x + dx, y: y + dy });
    last = { right: box.x + dx + box.width, middle: box.y + dy + box.height / 2 };
  }
  return places;
}

/** The nodes of each round, in the order of the rounds; what another round said is no reason to stand further right. */
function byRound(nodes: readonly Node[]): Node[][] {
  const rounds = [...new Set(nodes.map(({ round }) => round ?? 1))].sort((a, b) => a - b);
  return rounds.map((number) => {
    const members = nodes.filter(({ round }) => (round ?? 1) === number);
    const own = new Set(members.map(({ key }) => key));
    return members.map((node) => ({ ...node, access: node.access?.filter((source) => own.has(source)) ?? null }));
  });
}

/** Of more nodes than these nobody sees an order, and each layout takes a tenth of a second. */
const MANY = 60;

/** One round: in the order of the steps unless another order crosses fewer lines. */
function inLayers(nodes: readonly Node[]): Places {
  const wave = waves(nodes);
  const free = inOrder(nodes, arranged(nodes, wave, []));
  if (nodes.length > MANY) return free;
  const ordered = arranged(nodes, wave, inTheirOrder(nodes, wave));
  return crossings(nodes, free) < crossings(nodes, ordered) ? free : ordered;
}

function arranged(nodes: readonly Node[], wave: ReadonlyMap<string, number>, constraints: OrderConstraint[]): Places {
  const graph = new Graph();
  // With the ranker "none" dagre takes the ranks it is given; its types do not know of it.
  graph.setGraph({ rankdir: "LR", ranksep: GAP_X, nodesep: GAP_Y, ranker: "none" } as unknown as GraphLabel);
  graph.setDefaultEdgeLabel(() => ({}));

  for (const { key } of nodes) {
    // Twice, because dagre keeps every second rank for the labels of edges.
    graph.setNode(key, { width: WIDTH, height: HEIGHT, rank: 2 * (wave.get(key) ?? 0) });
  }
  for (const { key, access } of nodes) {
    const reads = (access ?? []).filter((source) => (wave.get(source) ?? Infinity) < (wave.get(key) ?? 0));
    for (const source of reads) graph.setEdge(source, key);
  }
  layout(graph, { constraints } as LayoutOptions);

  return new Map(
    nodes.map(({ key }) => {
      const at = graph.node(key) as { x: number; y: number };
      return [key, { x: Math.round(at.x - WIDTH / 2), y: Math.round(at.y - HEIGHT / 2) }];
    }),
  );
}

function inTheirOrder(nodes: readonly Node[], wave: ReadonlyMap<string, number>): OrderConstraint[] {
  const last = new Map<number, string>();
  return nodes.flatMap(({ key }) => {
    const layer = wave.get(key) ?? 0;
    const left = last.get(layer);
    last.set(layer, key);
    return left === undefined ? [] : { left, right: key };
  });
}

/** How many pairs of edges cross, drawn as straight lines. */
function crossings(nodes: readonly Node[], places: Places): number {
  const lines = nodes.flatMap(({ key, access }) =>
    (access ?? []).flatMap((source) => {
      const [from, to] = [places.get(source), places.get(key)];
      return from && to ? { from, to } : [];
    }),
  );
  return lines.reduce((sum, a, index) => sum + lines.slice(index + 1).filter((b) => cross(a, b)).length, 0);
}

type Line = { from: Point; to: Point };

/** Between the columns that both lines span, one is above the other at the left and below it at the right. */
function cross(a: Line, b: Line): boolean {
  const left = Math.max(a.from.x, b.from.x);
  const right = Math.min(a.to.x, b.to.x);
  const at = ({ from, to }: Line, x: number): number => from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
  return left < right && (at(a, left) - at(b, left)) * (at(a, right) - at(b, right)) < 0;
}

/** The layer of each step; a read that leads backwards or nowhere is no reason to stand further right. */
function waves(nodes: readonly Node[]): ReadonlyMap<string, number> {
  const wave = new Map<string, number>();
  for (const { key, access } of nodes) {
    wave.set(key, 1 + Math.max(-1, ...(access ?? []).map((source) => wave.get(source) ?? -1)));
  }
  return wave;
}

/** The same picture, upside down if that puts more steps above the later ones of their column. */
function inOrder(nodes: readonly Node[], places: Places): Places {
  let sorted = 0;
  for (const [index, above] of nodes.entries()) {
    for (const below of nodes.slice(index + 1)) {
      const [a, b] = [places.get(above.key)!, places.get(below.key)!];
      if (a.x === b.x) sorted += Math.sign(b.y - a.y);
    }
  }
  if (sorted >= 0) return places;
  return new Map([...places].map(([key, { x, y }]) => [key, { x, y: 0 - y }]));
}
