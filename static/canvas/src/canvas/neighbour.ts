/* Which card an arrow key leads to. */
import type { Point } from "./geometry";

export type Direction = "left" | "right" | "up" | "down";

const AHEAD: Readonly<Record<Direction, (from: Point, to: Point) => { along: number; across: number }>> = {
  right: (from, to) => ({ along: to.x - from.x, across: Math.abs(to.y - from.y) }),
  left: (from, to) => ({ along: from.x - to.x, across: Math.abs(to.y - from.y) }),
  down: (from, to) => ({ along: to.y - from.y, across: Math.abs(to.x - from.x) }),
  up: (from, to) => ({ along: from.y - to.y, across: Math.abs(to.x - from.x) }),
};

/** The card nearest to `key` in `direction`, where straying sideways counts double; null at the rim. */
export function neighbour(places: ReadonlyMap<string, Point>, key: string, direction: Direction): string | null {
  const from = places.get(key);
  if (from === undefined) return null;
  const ahead = AHEAD[direction];
  let best: { key: string; distance: number } | null = null;
  for (const [other, point] of places) {
    const { along, across } = ahead(from, point);
    const distance = along + 2 * across;
    if (along > 0 && (best === null || distance < best.distance)) best = { key: other, distance };
  }
  return best?.key ?? null;
}
