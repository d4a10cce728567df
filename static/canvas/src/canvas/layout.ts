/*
 * A whole graph at once, layered left to right by dagre.
 *
 * A step's layer is its wave: it stands right of all that it reads and no further, so that what can run side by side
 * stands in one column.
 */
import { Graph, layout, type GraphLabel } from "@dagrejs/dagre";
import { GAP_X, GAP_Y, HEIGHT, WIDTH, type Node, type Places } from "./geometry";

/** Top left corners of the cards of `nodes`. */
export function layered(nodes: readonly Node[]): Places {
  const graph = new Graph();
  // With the ranker "none" dagre takes the ranks it is given; its types do not know of it.
  graph.setGraph({ rankdir: "LR", ranksep: GAP_X, nodesep: GAP_Y, ranker: "none" } as unknown as GraphLabel);
  graph.setDefaultEdgeLabel(() => ({}));

  const wave = waves(nodes);
  for (const { key } of nodes) {
    // Twice, because dagre keeps every second rank for the labels of edges.
    graph.setNode(key, { width: WIDTH, height: HEIGHT, rank: 2 * (wave.get(key) ?? 0) });
  }
  for (const { key, access } of nodes) {
    const reads = (access ?? []).filter((source) => (wave.get(source) ?? Infinity) < (wave.get(key) ?? 0));
    for (const source of reads) graph.setEdge(source, key);
  }
  layout(graph);

  const places = new Map(
    nodes.map(({ key }) => {
      const at = graph.node(key) as { x: number; y: number };
      return [key, { x: Math.round(at.x - WIDTH / 2), y: Math.round(at.y - HEIGHT / 2) }];
    }),
  );
  return inOrder(nodes, places);
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
