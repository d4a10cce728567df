/*
 * What part of the graph is seen: the person's choice, or else all of it.
 *
 * Until somebody pans or zooms, the view changes only when something would lie outside it, so that a plan that
 * streams in does not jump about; where only the room for it became less, it changes as little as shows all. Selecting
 * never changes it.
 */
import { getViewportForBounds, Panel, useReactFlow, useStore, useStoreApi } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { hull, isInView, WIDTH, yielding, type Box, type Boxes, type View } from "./geometry";

/** As far as one can go away: a graph of 150 steps is seen as a whole. */
export const NARROWEST = 0.05;
/** Nearer than this nobody is brought by themselves: further away cards cannot be told apart. */
const TOLD_APART = 0.25;
/** What is written below the graph grows line by line: the graph makes way once it has come to rest. */
const REST_MS = 150;
const FIT_MS = 260;
/** Room for the buttons below. */
const FOOT = 56;
const SIDE = 20;

type Props = {
  boxes: Boxes;
  growing: boolean;
  isPersons: { current: boolean };
  /** What floats over the top of the graph, in pixels. */
  head: number;
};

export function Viewport({ boxes, growing, isPersons, head }: Props) {
  const flow = useReactFlow();
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const store = useStoreApi();
  const isSet = useRef(false);
  const fitted = useRef<{ boxes: Boxes; width: number } | null>(null);

  /** Show all of it; unless somebody asked for just that, a graph too large for it is shown from its beginning. */
  const fit = (duration: number, isAsked = false): void => {
    const box = hull(boxes.values());
    if (box === null || width === 0) return;
    // While cards still come, they come at the right: leave the room there.
    const corner = (zoom: number) => ({ x: SIDE - box.x * zoom, y: SIDE + head - box.y * zoom, zoom });
    const padding = { x: `${SIDE}px`, top: `${SIDE + head}px`, bottom: `${FOOT}px` } as const;
    const whole = getViewportForBounds(box, width, height, NARROWEST, 1, padding);
    const zoom = Math.max(whole.zoom, TOLD_APART);
    const start = zoom === whole.zoom ? whole : fromTheLeft(boxes, box, { zoom, width, height });
    void flow.setViewport(isAsked ? whole : growing ? corner(zoom) : start, { duration });
  };

  useEffect(() => {
    const box = hull(boxes.values());
    if (box === null || width === 0 || isPersons.current) return;
    if (!isSet.current) fit(0);
    isSet.current = true;
    const isSameGraph = fitted.current?.boxes === boxes && fitted.current.width === width;
    fitted.current = { boxes, width };
    if (!isSameGraph) {
      if (!isInView(box, viewOf(store.getState().transform), { width, height: height - FOOT })) fit(calm(200));
      return;
    }
    const timer = setTimeout(() => {
      if (isPersons.current) return;
      const to = yielding(box, viewOf(store.getState().transform), { width, height });
      if (to === "fit") fit(calm(FIT_MS));
      else if (to !== null) void flow.setViewport(to, { duration: calm(FIT_MS) });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [boxes, width, height, growing]);

  const zoom = (change: (options: { duration: number }) => Promise<boolean>): void => {
    isPersons.current = true;
    void change({ duration: calm(120) });
  };

  return (
    <Panel position="bottom-left" className="flow-float">
      <button type="button" aria-label="Zoom in" onClick={() => zoom(flow.zoomIn)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" onClick={() => zoom(flow.zoomOut)}>
        −
      </button>
      <button
        type="button"
        onClick={() => {
          isPersons.current = false;
          fit(calm(200), true);
        }}
      >
        Fit
      </button>
    </Panel>
  );
}

/** The first column in the middle of the left side. */
function fromTheLeft(boxes: Boxes, all: Box, { zoom, width, height }: { zoom: number; width: number; height: number }): View {
  const first = hull([...boxes.values()].filter(({ x }) => x < all.x + WIDTH)) ?? all;
  const isRoom = all.width * zoom + 2 * SIDE <= width;
  const x = isRoom ? (width - all.width * zoom) / 2 - all.x * zoom : SIDE - all.x * zoom;
  return { x, y: height / 2 - (first.y + first.height / 2) * zoom, zoom };
}

const viewOf = ([x, y, zoom]: readonly [number, number, number]): View => ({ x, y, zoom });

/** `ms`, or nothing for whoever asked for less motion. */
export const calm = (ms: number): number => (matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : ms);
