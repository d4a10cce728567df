/* The sizes all cards share, and the few questions asked of their positions. */

export type Point = { x: number; y: number };
export type Places = ReadonlyMap<string, Point>;
export type Box = { x: number; y: number; width: number; height: number };

/** What layout needs to know of a step; `access` is null while a plan is written and it is not yet known. */
export type Node = { key: string; access: readonly string[] | null };

export const WIDTH = 204;
export const HEIGHT = 104;
export const GAP_X = 46;
export const GAP_Y = 24;

export function bounds(places: Iterable<Point>): Box | null {
  const points = [...places];
  if (points.length === 0) return null;
  const left = Math.min(...points.map((point) => point.x));
  const top = Math.min(...points.map((point) => point.y));
  return {
    x: left,
    y: top,
    width: Math.max(...points.map((point) => point.x)) + WIDTH - left,
    height: Math.max(...points.map((point) => point.y)) + HEIGHT - top,
  };
}

export type View = Point & { zoom: number };
export type Size = { width: number; height: number };

/** `view` moved as little as shows all of `box`, with a margin. */
export function revealing(box: Box, view: View, size: Size, margin = 20): View {
  const shift = (low: number, high: number, room: number): number =>
    low < margin ? margin - low : high > room - margin ? Math.max(room - margin - high, margin - low) : 0;
  const left = box.x * view.zoom + view.x;
  const top = box.y * view.zoom + view.y;
  return {
    x: view.x + shift(left, left + box.width * view.zoom, size.width),
    y: view.y + shift(top, top + box.height * view.zoom, size.height),
    zoom: view.zoom,
  };
}

/** Whether all of `box` is seen in a window of `size` under `view`. */
export function isInView(box: Box, view: View, size: Size): boolean {
  const left = box.x * view.zoom + view.x;
  const top = box.y * view.zoom + view.y;
  return (
    left >= 0 &&
    top >= 0 &&
    left + box.width * view.zoom <= size.width &&
    top + box.height * view.zoom <= size.height
  );
}

/** How `view` makes way when the window became `size`: not at all, by moving, or, where that is not enough, by a new fit. */
export function yielding(box: Box, view: View, size: Size, margin = 8): View | "fit" | null {
  if (isInView(box, view, size)) return null;
  const isRoom = box.width * view.zoom + 2 * margin <= size.width && box.height * view.zoom + 2 * margin <= size.height;
  return isRoom ? revealing(box, view, size, margin) : "fit";
}
