/* The line of an edge: a smooth curve from card to card that goes round the cards between them. */
import { GAP_Y, type Box, type Point } from "./geometry";

/** Half a gap, so that a line fits between two cards. */
const CLEARANCE = GAP_Y / 2;

/**
 * An SVG path from `from` (a right handle) to `to` (a left handle), keeping clear of `cards`.
 *
 * @returns the path, and the point in its middle where a label may sit.
 */
export function route(from: Point, to: Point, cards: readonly Box[]): { path: string; middle: Point } {
  const stops = [from, ...detours(from, to, cards), to];
  const path = stops
    .slice(1)
    .reduce((line, stop, index) => `${line} ${curve(stops[index] as Point, stop)}`, `M${from.x} ${from.y}`);
  return { path, middle: middleOf(stops) };
}

/** Cubic with level ends; a card's width of level line where it passes one. */
function curve(a: Point, b: Point): string {
  if (a.y === b.y && b.x >= a.x) return `L${b.x} ${b.y}`;
  const reach = b.x > a.x ? (b.x - a.x) / 2 : Math.max(80, (a.x - b.x) / 2);
  return `C${a.x + reach} ${a.y} ${b.x - reach} ${b.y} ${b.x} ${b.y}`;
}

function middleOf(stops: readonly Point[]): Point {
  const a = stops[Math.floor((stops.length - 1) / 2)] as Point;
  const b = stops[Math.ceil((stops.length - 1) / 2)] as Point;
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

function detours(from: Point, to: Point, cards: readonly Box[]): Point[] {
  const between = columns(cards.filter((card) => card.x > from.x && card.x + card.width < to.x));
  let y = from.y;
  return between.flatMap((column, index) => {
    const wish = y + (to.y - y) / (between.length - index + 1);
    const lane = freeLane(wish, column);
    y = lane;
    if (lane === wish && clears(from, to, column)) return [];
    const left = Math.min(...column.map((card) => card.x));
    const right = rightOf(column);
    return [
      { x: left, y: lane },
      { x: right, y: lane },
    ];
  });
}

/** Cards that stand above one another, from left to right. */
function columns(cards: readonly Box[]): Box[][] {
  const found: Box[][] = [];
  for (const card of [...cards].sort((a, b) => a.x - b.x)) {
    const column = found.at(-1);
    if (column !== undefined && card.x < rightOf(column)) column.push(card);
    else found.push([card]);
  }
  return found;
}

const rightOf = (column: readonly Box[]): number => Math.max(...column.map((card) => card.x + card.width));

/** A straight line would pass all of `column` at a good distance. */
function clears(from: Point, to: Point, column: readonly Box[]): boolean {
  const at = (x: number): number => from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
  return column.every((card) => {
    const [low, high] = [at(card.x), at(card.x + card.width)].sort((a, b) => a - b) as [number, number];
    return high < card.y - GAP_Y || low > card.y + card.height + GAP_Y;
  });
}

/** The height nearest to `wish` at which a line passes above, below or between the cards of `column`. */
function freeLane(wish: number, column: readonly Box[]): number {
  const above = (card: Box): number => card.y - CLEARANCE;
  const below = (card: Box): number => card.y + card.height + CLEARANCE;
  const isFree = (lane: number): boolean => column.every((card) => lane <= above(card) || lane >= below(card));
  const lanes = [wish, ...column.flatMap((card) => [above(card), below(card)])].filter(isFree);
  return lanes.reduce((best, lane) => (Math.abs(lane - wish) < Math.abs(best - wish) ? lane : best), lanes[0] ?? wish);
}
