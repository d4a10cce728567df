import { describe, expect, test } from "vitest";
import { BEHIND_ALL, GAP_Y, HEIGHT, isInView, revealing, yielding, WIDTH, type Node, type Places } from "../src/canvas/geometry";
import { layered } from "../src/canvas/layout";
import { place } from "../src/canvas/place";

const NOWHERE: Places = new Map();
const graph = (steps: Record<string, string[] | null>): Node[] =>
  Object.entries(steps).map(([key, access]) => ({ key, access }));
const x = (places: Places, key: string): number => places.get(key)!.x;
const y = (places: Places, key: string): number => places.get(key)!.y;

function expectNoOverlap(places: Places): void {
  const all = [...places.values()];
  for (const [index, a] of all.entries()) {
    for (const b of all.slice(index + 1)) {
      expect(Math.abs(a.x - b.x) >= WIDTH || Math.abs(a.y - b.y) >= HEIGHT).toBe(true);
    }
  }
}

const FIVE = graph({ s1: [], s2: [], s3: [], s4: ["s1", "s2"], s5: ["s1", "s3", "s4"] });

describe("a whole graph", () => {
  test("stands in layers: every step right of all it reads, and no further", () => {
    const places = layered(FIVE);
    expect(new Set(["s1", "s2", "s3"].map((key) => x(places, key))).size).toBe(1);
    expect(x(places, "s4")).toBeGreaterThan(x(places, "s1") + WIDTH);
    expect(x(places, "s5")).toBeGreaterThan(x(places, "s4") + WIDTH);
    expectNoOverlap(places);
  });

  test("keeps the order of the steps where that crosses no lines", () => {
    const places = layered(FIVE);
    expect(y(places, "s1")).toBeLessThan(y(places, "s2"));
    expect(y(places, "s2")).toBeLessThan(y(places, "s3"));
  });

  test("gives up that order to cross fewer lines", () => {
    const places = layered(graph({ s1: [], s2: [], s3: ["s2"], s4: ["s1"] }));
    expect(y(places, "s1") < y(places, "s2")).toBe(y(places, "s4") < y(places, "s3"));
  });

  test("can be drawn though it reads forward, itself, or nothing that is there", () => {
    const places = layered(graph({ s1: ["s2", "s1", "gone"], s2: ["s1"] }));
    expect(places.size).toBe(2);
    expectNoOverlap(places);
  });

  test("of nothing is nothing", () => expect(layered([]).size).toBe(0));
});

describe("while a plan streams in", () => {
  /** Each stage as the conductor writes: instructions first, then what each step reads. */
  function stream(final: readonly Node[]): Places[] {
    const stages: Node[][] = [];
    for (const [index] of final.entries()) stages.push(final.slice(0, index + 1).map(({ key }) => ({ key, access: null })));
    for (const [index] of final.entries()) {
      stages.push(final.map((node, other) => ({ key: node.key, access: other <= index ? node.access : null })));
    }
    stages.push([...final]);
    const seen: Places[] = [];
    for (const stage of stages) seen.push(place(stage, seen.at(-1) ?? NOWHERE));
    return seen;
  }

  test("a new card never moves those that stand", () => {
    const seen = stream(FIVE).slice(0, FIVE.length);
    for (const [index, places] of seen.entries()) {
      for (const [key, at] of seen[index - 1] ?? []) expect(places.get(key)).toEqual(at);
    }
  });

  test("a card moves at most once: when what it reads becomes known", () => {
    const seen = stream(FIVE);
    for (const { key } of FIVE) {
      const stops = seen.flatMap((places) => (places.has(key) ? JSON.stringify(places.get(key)) : []));
      expect(new Set(stops).size).toBeLessThanOrEqual(2);
    }
  });

  test("a card that reads nothing never moves", () => {
    const seen = stream(FIVE);
    const stops = seen.flatMap((places) => (places.has("s2") ? JSON.stringify(places.get("s2")) : []));
    expect(new Set(stops).size).toBe(1);
  });

  test("adoption moves nothing", () => {
    const seen = stream(FIVE);
    expect(seen.at(-1)).toEqual(seen.at(-2));
    expectNoOverlap(seen.at(-1)!);
  });

  test("steps that say at once what they read are placed once and for all", () => {
    const first = place(FIVE.slice(0, 1), NOWHERE);
    const all = FIVE.slice(1).reduce((places, _, index) => place(FIVE.slice(0, index + 2), places), first);
    expect(all.get("s1")).toEqual(first.get("s1"));
    expect(x(all, "s5")).toBeGreaterThan(x(all, "s4"));
    expectNoOverlap(all);
  });
});

describe("a sink", () => {
  const nodes = (steps: Record<string, string[]>, over: string[]): Node[] => [
    ...graph(steps),
    { key: "sink:", access: over, round: BEHIND_ALL },
  ];

  test("stands right of all steps, also of those it does not count", () => {
    const places = layered(nodes({ s1: [], s2: ["s1"], s3: ["s2"] }, ["s1", "s2"]));
    expect(x(places, "sink:")).toBeGreaterThan(x(places, "s3") + WIDTH);
  });

  test("makes way for steps that come later, which move nothing else", () => {
    const before = layered(nodes({ s1: [], s2: ["s1"] }, ["s2"]));
    const after = place(nodes({ s1: [], s2: ["s1"], s3: ["s1", "s2"] }, ["s2", "s3"]), before);
    expect([after.get("s1"), after.get("s2")]).toEqual([before.get("s1"), before.get("s2")]);
    expect(x(after, "sink:")).toBeGreaterThan(x(after, "s3") + WIDTH);
    expectNoOverlap(after);
  });

  test("stays where a person has put it", () => {
    const before: Places = new Map([...layered(nodes({ s1: [] }, ["s1"])), ["sink:", { x: -500, y: 0 }]]);
    const after = place(nodes({ s1: [], s2: ["s1"] }, ["s1", "s2"]), before, { held: new Set(["sink:"]) });
    expect(after.get("sink:")).toEqual({ x: -500, y: 0 });
  });
});

describe("while a person edits", () => {
  test("what the person moved stays, even where an edge runs backwards", () => {
    const before: Places = new Map([...layered(FIVE), ["s5", { x: -900, y: 70 }]]);
    const places = place(FIVE, before, { held: new Set(["s5"]) });
    expect(places.get("s5")).toEqual({ x: -900, y: 70 });
  });

  test("a new read moves its reader only, and only if it must", () => {
    const before = layered(FIVE);
    const same = place(graph({ s1: [], s2: [], s3: [], s4: ["s1", "s2", "s3"], s5: ["s1", "s3", "s4"] }), before);
    expect(same).toEqual(before);

    const moved = place(graph({ s1: [], s2: ["s1"], s3: [], s4: ["s1"], s5: ["s4"] }), before);
    expect([...moved.keys()].filter((key) => x(moved, key) !== x(before, key))).toEqual(["s2"]);
    expectNoOverlap(moved);
  });

  test("what the person moved makes no other card move, though an edge runs backwards", () => {
    const before: Places = new Map([...layered(FIVE), ["s1", { x: 900, y: 70 }]]);
    const after = place([...FIVE, { key: "s6", access: ["s5"] }], before, { held: new Set(["s1"]), changed: new Set(["s6"]) });
    expect([...after].filter(([key]) => key !== "s6")).toEqual([...before]);
  });

  test("a card that must move takes along those that read it", () => {
    const before = layered(graph({ s1: [], s2: [], s3: ["s2"] }));
    const after = place(graph({ s1: [], s2: ["s1"], s3: ["s2"] }), before, { changed: new Set(["s2"]) });
    expect(x(after, "s2")).toBeGreaterThan(x(after, "s1"));
    expect(x(after, "s3")).toBeGreaterThan(x(after, "s2"));
  });

  test("a removed step leaves its place, and the others keep theirs", () => {
    const before = layered(FIVE);
    const after = place(FIVE.slice(0, 4), before);
    expect(after).toEqual(new Map([...before].filter(([key]) => key !== "s5")));
  });

  test("a new step that reads nothing goes below the first column", () => {
    const before = layered(FIVE);
    const after = place([...FIVE, { key: "s6", access: [] }], before);
    expect(after.get("s6")).toEqual({ x: x(before, "s1"), y: y(before, "s3") + HEIGHT + GAP_Y });
  });
});

test("a box is in view only when all of it is", () => {
  const box = { x: 0, y: 0, width: 400, height: 200 };
  const size = { width: 500, height: 300 };
  expect(isInView(box, { x: 10, y: 10, zoom: 1 }, size)).toBe(true);
  expect(isInView(box, { x: 110, y: 10, zoom: 1 }, size)).toBe(false);
  expect(isInView(box, { x: -1, y: 10, zoom: 1 }, size)).toBe(false);
  expect(isInView(box, { x: 10, y: 10, zoom: 2 }, size)).toBe(false);
});

describe("bringing a card into view", () => {
  const size = { width: 500, height: 300 };
  const card = { x: 0, y: 0, width: 200, height: 100 };
  test("moves as little as it can", () => {
    expect(revealing(card, { x: -50, y: 40, zoom: 1 }, size)).toEqual({ x: 20, y: 40, zoom: 1 });
    expect(revealing(card, { x: 400, y: 290, zoom: 1 }, size)).toEqual({ x: 280, y: 180, zoom: 1 });
  });
  test("shows the beginning of one that is larger than the window", () => {
    expect(revealing({ ...card, width: 900 }, { x: 30, y: 40, zoom: 1 }, size).x).toBe(20);
  });
});

describe("a window that becomes lower", () => {
  const graph = { x: 0, y: 0, width: 400, height: 200 };
  const view = { x: 50, y: 200, zoom: 1 };
  test("leaves the view alone while all is seen", () => {
    expect(yielding(graph, view, { width: 500, height: 408 })).toBeNull();
  });
  test("moves it where a card would touch the edge", () => {
    expect(yielding(graph, view, { width: 500, height: 400 })).toEqual({ x: 50, y: 192, zoom: 1 });
  });
  test("moves it where there is room for all, at the same size", () => {
    expect(yielding(graph, view, { width: 500, height: 300 })).toEqual({ x: 50, y: 92, zoom: 1 });
  });
  test("has it fitted anew where there is not", () => {
    expect(yielding(graph, view, { width: 500, height: 180 })).toBe("fit");
  });
});
