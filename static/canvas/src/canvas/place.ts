/*
 * Where cards go when others are already there: what stands, stays.
 *
 * While a plan streams in, reads are often known last. A step whose reads are not known waits in the first column
 * and takes its place once, when an edge would otherwise run backwards; then it, too, stays.
 */
import { BEHIND_ALL, GAP_X, GAP_Y, HEIGHT, ROUND_GAP, WIDTH, type Node, type Places, type Point } from "./geometry";
import { layered } from "./layout";

export type Standing = {
  /** The cards a person has put somewhere: they are never moved. */
  held?: ReadonlySet<string>;
  /** The steps whose reads are new: only these, and those that read them, may have to move. All, if left out. */
  changed?: ReadonlySet<string>;
};

/** Places for `nodes`, in their order, where those in `before` stand already. */
export function place(nodes: readonly Node[], before: Places, { held, changed }: Standing = {}): Places {
  const standing = nodes.filter((node) => before.has(node.key));
  if (standing.length === 0 && nodes.every((node) => node.access !== null)) return layered(nodes);

  const places = new Map<string, Point>();
  const hasGrown = standing.length < nodes.length;
  for (const node of standing) {
    // What stands behind all makes way for what is new.
    if (hasGrown && node.round === BEHIND_ALL && !held?.has(node.key)) continue;
    places.set(node.key, before.get(node.key) as Point);
  }
  const rounds = new Map(nodes.map((node) => [node.key, node.round ?? 1]));
  const loose = new Set(changed ?? nodes.map((node) => node.key));
  for (const node of nodes) {
    const at = places.get(node.key);
    const mayMove = !held?.has(node.key) && (loose.has(node.key) || node.access?.some((source) => loose.has(source)));
    if (at !== undefined && !(mayMove && runsBackwards(node, at, places))) continue;
    loose.add(node.key);
    places.delete(node.key);
    places.set(node.key, freePlace(node, places, rounds));
  }
  return places;
}

function sourcesOf(node: Node, places: Places): Point[] {
  return (node.access ?? []).flatMap((source) => places.get(source) ?? []);
}

function runsBackwards(node: Node, at: Point, places: Places): boolean {
  return sourcesOf(node, places).some((source) => source.x + WIDTH > at.x);
}

/** Right of what it reads in its own round; of a round that has no other step yet, right of all rounds before it. */
function freePlace(node: Node, places: Places, rounds: ReadonlyMap<string, number>): Point {
  const round = node.round ?? 1;
  const of = (is: (other: number) => boolean): Places =>
    new Map([...places].filter(([key]) => is(rounds.get(key) ?? 1)));
  const peers = of((other) => other === round);
  const before = [...of((other) => other < round).values()];
  const sources = sourcesOf(node, peers);
  const taken = [...places.values()];
  if (sources.length === 0) {
    return peers.size === 0 && before.length > 0
      ? nearestFree(startOf(sourcesOf(node, places), before), taken)
      : below(firstColumn([...peers.values()]), [...peers.values()]);
  }
  const x = Math.max(...sources.map((source) => source.x)) + WIDTH + GAP_X;
  return nearestFree({ x, y: middle(sources) }, taken);
}

/** Where a round begins: level with what its first step reads, or else with the last step before it. */
const startOf = (sources: readonly Point[], before: readonly Point[]): Point => ({
  x: Math.max(...before.map((point) => point.x)) + WIDTH + ROUND_GAP,
  y: middle(sources.length > 0 ? sources : before.slice(-1)),
});

const middle = (points: readonly Point[]): number =>
  Math.round(points.reduce((sum, point) => sum + point.y, 0) / points.length);

const firstColumn = (taken: readonly Point[]): number => Math.min(...taken.map((point) => point.x), Infinity);

function below(column: number, taken: readonly Point[]): Point {
  if (taken.length === 0) return { x: 0, y: 0 };
  const inColumn = taken.filter((point) => sharesColumn(point.x, column));
  return { x: column, y: Math.max(...inColumn.map((point) => point.y)) + HEIGHT + GAP_Y };
}

const sharesColumn = (a: number, b: number): boolean => Math.abs(a - b) < WIDTH + GAP_X / 2;

/** The free place nearest to `wish` in its column, the lower one of two. */
function nearestFree(wish: Point, taken: readonly Point[]): Point {
  const ys = taken.filter((point) => sharesColumn(point.x, wish.x)).map((point) => point.y);
  const isFree = (y: number): boolean => ys.every((other) => Math.abs(other - y) >= HEIGHT + GAP_Y);
  const candidates = [wish.y, ...ys.flatMap((y) => [y + HEIGHT + GAP_Y, y - HEIGHT - GAP_Y])].filter(isFree);
  const distance = (y: number): number => Math.abs(y - wish.y) - (y >= wish.y ? 0.5 : 0);
  return { x: wish.x, y: candidates.reduce((best, y) => (distance(y) < distance(best) ? y : best)) };
}
