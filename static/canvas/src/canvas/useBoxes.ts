/* The places of the cards over time: laid out once, then kept. What a person moved is remembered for the tab. */
import { useCallback, useMemo, useRef, useState } from "react";
import { arrange, type Level } from "./arrange";
import type { Boxes, Places, Point } from "./geometry";
import { place } from "./place";

type Kept = { moved: Record<string, Point> };
type Ground = { places: Places; reads: ReadonlyMap<string, string> };

export function useBoxes(level: Level, memory: string | null) {
  const moved = useRef<Map<string, Point> | null>(null);
  moved.current ??= recall(memory);
  const held = moved.current;
  const grounds = useRef(new Map<string, Ground>());
  const [moves, setMoves] = useState(0);

  const shape = shapeOf(level);
  const laid = useMemo(() => {
    stand(level, grounds.current, held);
    return new Map([...grounds.current].map(([prefix, { places }]) => [prefix, places]));
    // The shape says all that layout needs to know of the nodes.
  }, [shape]);

  const boxes = useMemo<Boxes>(() => {
    const own = new Map([...(laid.get("") ?? [])].map(([key, at]) => [key, held.get(key) ?? at]));
    return arrange(level, new Map([...laid, ["", own]]), new Set(held.keys()));
  }, [laid, moves]);

  const move = useCallback(
    (key: string, to: Point, isLast: boolean) => {
      held.set(key, to);
      setMoves((count) => count + 1);
      if (isLast) keep(memory, { moved: Object.fromEntries(held) });
    },
    [held, memory],
  );

  return { boxes, move };
}

/** Give every node of `level`, and of the levels in it, its place on its ground. */
function stand(level: Level, grounds: Map<string, Ground>, held: ReadonlyMap<string, Point>): void {
  const before = grounds.get(level.prefix) ?? { places: new Map(), reads: new Map() };
  const reads = readsOf(level);
  const changed = new Set([...reads.keys()].filter((key) => reads.get(key) !== before.reads.get(key)));
  const standing = new Map([...before.places].map(([key, at]) => [key, held.get(key) ?? at]));
  grounds.set(level.prefix, { places: place(level.nodes, standing, { held: new Set(held.keys()), changed }), reads });
  for (const inner of level.inside.values()) stand(inner, grounds, held);
}

const readsOf = ({ nodes }: Level): ReadonlyMap<string, string> =>
  new Map(nodes.map(({ key, access, round }) => [key, `${round ?? 1}:${access?.join(",") ?? "?"}`]));

function shapeOf(level: Level): string {
  const rounds = level.rounds.map(({ key, members, isFolded }) => `${key}${isFolded ? "-" : "+"}${members.join(",")}`);
  return [...readsOf(level), ...rounds, ...[...level.inside.values()].map((inner) => `{${shapeOf(inner)}}`)].join(";");
}

function recall(memory: string | null): Map<string, Point> {
  try {
    const text = memory === null ? null : sessionStorage.getItem(memory);
    return new Map(Object.entries(text === null ? {} : (JSON.parse(text) as Kept).moved));
  } catch {
    return new Map(); // no storage, or nothing sensible in it: the cards start where layout puts them
  }
}

function keep(memory: string | null, kept: Kept): void {
  try {
    if (memory !== null) sessionStorage.setItem(memory, JSON.stringify(kept));
  } catch {
    // A full or forbidden storage costs only the memory of where cards were.
  }
}
