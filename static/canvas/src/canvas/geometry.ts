/* The sizes all cards share, and the few questions asked of their positions. */

export type Point = { x: number; y: number };
/** Where cards stand as long as nothing is folded or unfolded: their top left corners. */
export type Places = ReadonlyMap<string, Point>;
export type Box = Point & { width: number; height: number };
/** What is seen, and where: cards, and the frames around groups of them. */
export type Boxes = ReadonlyMap<string, Box>;

/**
 * What layout needs to know of a step; `access` is null while a plan is written and it is not yet known. The steps of
 * a round (all of the first, if left out) stand right of those of the rounds before.
 */
export type Node = { key: string; access: readonly string[] | null; round?: number };

/** The round of what stands right of everything, whatever is added: the sink. */
export const BEHIND_ALL = 1_000;

export const WIDTH = 204;
export const HEIGHT = 104;
export const GAP_X = 46;
export const GAP_Y = 24;
/** Around the cards of a group, and above them its head. */
export const PAD = 14;
export const HEAD = 36;
/** Between the cards of two rounds: room for both their frames, and for the edges between them. */
export const ROUND_GAP = 2 * PAD + GAP_X;

export const cardAt = ({ x, y }: Point): Box => ({ x, y, width: WIDTH, height: HEIGHT });

/** The smallest box around all of `boxes`. */
export function hull(boxes: Iterable<Box>): Box | null {
  const all = [...boxes];
  if (all.length === 0) return null;
  const x = Math.min(...all.map((box) => box.x));
  const y = Math.min(...all.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...all.map((box) => box.x + box.width)) - x,
    height: Math.max(...all.map((box) => box.y + box.height)) - y,
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
  if (isInView(box, view, { width: size.width - margin, height: size.height - margin })) return null;
  const isRoom = box.width * view.zoom + 2 * margin <= size.width && box.height * view.zoom + 2 * margin <= size.height;
  return isRoom ? revealing(box, view, size, margin) : "fit";
}
