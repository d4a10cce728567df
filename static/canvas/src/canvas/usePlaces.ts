/* The places of the cards over time: laid out once, then kept. What a person moved is remembered for the tab. */
import { useCallback, useMemo, useRef, useState } from "react";
import type { Node, Places, Point } from "./geometry";
import { place } from "./place";

type Kept = { moved: Record<string, Point> };

export function usePlaces(nodes: readonly Node[], memory: string | null) {
  const moved = useRef<Map<string, Point> | null>(null);
  moved.current ??= recall(memory);
  const held = moved.current;
  const last = useRef<{ places: Places; reads: ReadonlyMap<string, string> }>({ places: new Map(), reads: new Map() });
  const [moves, setMoves] = useState(0);

  const reads = new Map(nodes.map(({ key, access }) => [key, access?.join(",") ?? "?"]));
  const shape = [...reads].join(";");
  const laid = useMemo(() => {
    const before = last.current;
    const changed = new Set([...reads.keys()].filter((key) => reads.get(key) !== before.reads.get(key)));
    const standing = new Map([...before.places].map(([key, at]) => [key, held.get(key) ?? at]));
    const places = place(nodes, standing, { held: new Set(held.keys()), changed });
    last.current = { places, reads };
    return places;
    // The shape says all that layout needs to know of the nodes.
  }, [shape]);

  const places = useMemo<Places>(() => new Map([...laid].map(([key, at]) => [key, held.get(key) ?? at])), [laid, moves]);

  const move = useCallback(
    (key: string, to: Point, isLast: boolean) => {
      held.set(key, to);
      setMoves((count) => count + 1);
      if (isLast) keep(memory, { moved: Object.fromEntries(held) });
    },
    [held, memory],
  );

  return { places, move };
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
