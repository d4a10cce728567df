/*
 * What is seen of a graph whose groups are folded and unfolded, and where.
 *
 * The places of the cards (see place.ts) know nothing of folds. What unfolds pushes what stands right of it and below
 * it as far as it needs, and what folds pulls it back: folded again, everything is where it was. What a person moved
 * is neither pushed nor pulled.
 */
import { GAP_X, GAP_Y, HEAD, HEIGHT, PAD, WIDTH, cardAt, hull, type Box, type Boxes, type Node, type Places } from "./geometry";

/** The graph of one run: the page's own, or one that is nested in a step. */
export type Level = {
  /** What the keys of its steps begin with: "" or "s2/". */
  prefix: string;
  nodes: readonly Node[];
  rounds: readonly { key: string; members: readonly string[]; isFolded: boolean }[];
  /** The nested runs that are unfolded, by the key of their step. */
  inside: ReadonlyMap<string, Level>;
};

/** The boxes of all that is seen of `level`; `places` are those of each level by its prefix. */
export function arrange(
  level: Level,
  places: ReadonlyMap<string, Places>,
  held: ReadonlySet<string> = new Set(),
): Boxes {
  const insides = new Map([...level.inside].map(([key, inner]) => [key, arrange(inner, places, held)]));
  const own = places.get(level.prefix);
  const boxes = new Map(
    level.nodes.map(({ key }) => [key, { ...cardAt(own?.get(key) ?? { x: 0, y: 0 }), ...sizeOf(insides.get(key)) }]),
  );
  makeRoom(boxes, [...insides.keys()], held);
  const frames = folded(boxes, level.rounds, held);
  for (const [key, inner] of insides) {
    for (const [each, box] of inside(boxes.get(key), inner)) boxes.set(each, box);
  }
  return new Map([...frames, ...boxes]);
}

function sizeOf(inner: Boxes | undefined): { width: number; height: number } {
  const content = inner && hull(inner.values());
  return content ? { width: content.width + 2 * PAD, height: content.height + HEAD + PAD } : { width: WIDTH, height: HEIGHT };
}

/** The boxes of a nested graph, moved into its frame; none where that is in a round that is folded. */
function inside(frame: Box | undefined, inner: Boxes): Boxes {
  const content = hull(inner.values());
  if (frame === undefined || content === null) return new Map();
  const [dx, dy] = [frame.x + PAD - content.x, frame.y + HEAD - content.y];
  return new Map([...inner].map(([key, box]) => [key, { ...box, x: box.x + dx, y: box.y + dy }]));
}

/** Push aside what the boxes that grew would cover: to the right what stands right of them, down what stands below. */
function makeRoom(boxes: Map<string, Box>, grown: readonly string[], held: ReadonlySet<string>): void {
  const inOrder = [...grown].sort((a, b) => boxes.get(a)!.x - boxes.get(b)!.x || boxes.get(a)!.y - boxes.get(b)!.y);
  for (const key of inOrder) {
    const { x, y, width, height } = boxes.get(key)!;
    const isFree = (other: string): boolean => other !== key && !held.has(other);
    shift(boxes, "x", (other, box) => isFree(other) && box.x >= x + WIDTH, x + width + GAP_X);
    const isInColumn = (box: Box): boolean => box.x < x + WIDTH && box.x + box.width > x;
    shift(boxes, "y", (other, box) => isFree(other) && isInColumn(box) && box.y >= y + HEIGHT, y + height + GAP_Y);
  }
}

/** Move those that are meant, all by the same, so that none begins before `from`. */
function shift(boxes: Map<string, Box>, axis: "x" | "y", isMeant: (key: string, box: Box) => boolean, from: number): void {
  const meant = [...boxes].filter(([key, box]) => isMeant(key, box));
  const by = from - Math.min(...meant.map(([, box]) => box[axis]));
  if (by > 0) for (const [key, box] of meant) boxes.set(key, { ...box, [axis]: box[axis] + by });
}

/** Put a card in the place of each folded round, and draw a frame round each of the others. */
function folded(boxes: Map<string, Box>, rounds: Level["rounds"], held: ReadonlySet<string>): Boxes {
  for (const { key, members, isFolded } of rounds) {
    const box = isFolded ? hullOf(boxes, members) : null;
    if (box === null) continue;
    for (const member of members) boxes.delete(member);
    const right = box.x + box.width;
    for (const [other, at] of boxes) {
      if (!held.has(other) && at.x >= right) boxes.set(other, { ...at, x: at.x - box.width + WIDTH });
    }
    boxes.set(key, cardAt({ x: box.x, y: Math.round(box.y + (box.height - HEIGHT) / 2) }));
  }
  const frames = new Map<string, Box>();
  for (const { key, members, isFolded } of rounds) {
    const box = isFolded ? null : hullOf(boxes, members);
    if (box === null) continue;
    const { x, y, width, height } = box;
    frames.set(key, { x: x - PAD, y: y - HEAD, width: width + 2 * PAD, height: height + HEAD + PAD });
  }
  return frames;
}

const hullOf = (boxes: Boxes, members: readonly string[]): Box | null =>
  hull(members.flatMap((member) => boxes.get(member) ?? []));
