import { describe, expect, test } from "vitest";
import { HEIGHT, WIDTH, type Places } from "../src/canvas/geometry";
import { criticalLength, edgeWidth, readablePast } from "../src/canvas/model";
import { neighbour } from "../src/canvas/neighbour";
import { route } from "../src/canvas/route";
import { countsOf, graphOfDraft, graphOfRun } from "../src/canvas/watching";
import { drafted } from "../src/draft";
import { replay } from "../src/live/reduce";
import { Trail } from "./trail";

const WORKERS = { atlas: { name: "Atlas", letter: "A", colour: "b", simulated: true } } as const;
const NODES = [
  { key: "s1", access: [] },
  { key: "s2", access: ["s1"] },
  { key: "s3", access: [] },
  { key: "s4", access: ["s2"] },
];

describe("the readable past of a step", () => {
  test("is itself, what it reads, and what shaped that", () => {
    expect([...readablePast(NODES, "s4")]).toEqual([
      ["s4", 0],
      ["s2", 1],
      ["s1", 2],
    ]);
  });
});

test("the critical path is the longest chain of reads", () => {
  expect([criticalLength(NODES), criticalLength([])]).toEqual([3, 0]);
});

test("an edge is wider the more passed, within reason", () => {
  expect(edgeWidth(null)).toBeLessThan(edgeWidth(0));
  expect(edgeWidth(300)).toBeLessThan(edgeWidth(3000));
  expect(edgeWidth(10_000_000)).toBe(6);
});

describe("arrow keys", () => {
  const places: Places = new Map([
    ["s1", { x: 0, y: 0 }],
    ["s2", { x: 0, y: 124 }],
    ["s3", { x: 250, y: 130 }],
    ["s4", { x: 500, y: 0 }],
  ]);
  test("lead to the nearest card in their direction", () => {
    expect(neighbour(places, "s1", "down")).toBe("s2");
    expect(neighbour(places, "s2", "up")).toBe("s1");
    expect(neighbour(places, "s2", "right")).toBe("s3");
    expect(neighbour(places, "s3", "left")).toBe("s2");
  });
  test("stop at the rim", () => {
    expect([neighbour(places, "s1", "left"), neighbour(places, "s4", "right")]).toEqual([null, null]);
  });
});

describe("an edge", () => {
  const from = { x: 0, y: 50 };
  const to = { x: 600, y: 50 };

  test("is one smooth curve when nothing is in its way", () => {
    expect(route(from, { x: 60, y: 90 }, []).path).toBe("M0 50 C30 50 30 90 60 90");
  });

  test("is a straight line between cards at the same height", () => {
    expect(route(from, { x: 60, y: 50 }, []).path).toBe("M0 50 L60 50");
  });

  test("goes round a card that stands between", () => {
    const card = { x: 200, y: 0 };
    const { path } = route(from, to, [card]);
    const heights = [...path.matchAll(/L(\S+) (\S+)/g)].map((match) => Number(match[2]));
    expect(heights).toHaveLength(1);
    expect(heights[0]! < card.y || heights[0]! > card.y + HEIGHT).toBe(true);
  });

  test("passes between two cards where there is a gap", () => {
    const column = [-80, 60].map((y) => ({ x: 200, y }));
    const { path } = route(from, to, column);
    expect(path).toContain(`L${200 + WIDTH} `);
    expect(path).not.toContain("NaN");
  });

  test("takes no notice of cards it passes at a distance", () => {
    expect(route(from, to, [{ x: 200, y: 500 }]).path).toBe("M0 50 L600 50");
  });
});

describe("the cards of a run", () => {
  test("say what they wait for, do, and did", () => {
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: ["s1", "s2"] });
    trail.started("s1", 11).succeeded("s1", 11, "**North**\nleads.").started("s2", 12);
    const { cards, edges } = graphOfRun(replay(trail.events), WORKERS);
    expect(cards.map(({ state, meta, text, stream }) => [state, meta, text, stream])).toEqual([
      ["succeeded", "1.5 s", "North leads.", null],
      ["running", "", "Waiting for the first token", "a12"],
      ["waiting", "", "Reads 1 and 2", null],
    ]);
    expect(edges.map(({ source, reader, tokens }) => [source, reader, tokens])).toEqual([
      ["s1", "s2", 20],
      ["s1", "s3", 20],
      ["s2", "s3", null],
    ]);
  });

  test("are on hold while the run is", () => {
    const trail = new Trail().submitted().adopted({ s1: [] }).add("run.held", { reason: "review" });
    expect(graphOfRun(replay(trail.events), WORKERS).cards[0]?.state).toBe("held");
  });

  test("are counted", () => {
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"] });
    expect(countsOf(graphOfRun(replay(trail.events), WORKERS))).toBe("2 steps · 1 access edge · critical path 2 steps");
  });

  test("show a worker that the page does not know", () => {
    const trail = new Trail().submitted().adopted({ s1: [] });
    expect(graphOfRun(replay(trail.events), {}).cards[0]?.worker).toMatchObject({ name: "atlas", letter: "A" });
  });
});

describe("a draft", () => {
  const steps = [
    { position: 1, instruction: "Count the rows", worker: "atlas", access: [] },
    { position: 3, instruction: null, worker: null, access: [1, 2, 7, 3] },
    { position: 2, instruction: "Sum them", worker: null, access: null },
  ];

  test("has the keys that its steps will have, in order", () => {
    expect(drafted(steps).map(({ key, position }) => [key, position])).toEqual([
      ["s1", 1],
      ["s2", 2],
      ["s3", 3],
    ]);
  });

  test("reads only earlier steps that exist", () => {
    expect(drafted(steps).map((step) => step.access)).toEqual([[], null, ["s1", "s2"]]);
  });

  test("may count from nought", () => {
    const zero = steps.map((step) => ({ ...step, position: step.position - 1, access: step.access?.map((at) => at - 1) ?? null }));
    expect(drafted(zero)).toEqual(drafted(steps));
  });

  test("of nothing is nothing", () => expect(drafted([])).toEqual([]));

  test("is drawn with what is known of it", () => {
    const { cards, edges } = graphOfDraft(drafted(steps), WORKERS);
    expect(cards.map(({ title, state, worker, text }) => [title, state, worker?.name, text])).toEqual([
      ["Count the rows", "draft", "Atlas", "Reads the task alone"],
      ["Sum them", "draft", undefined, "Being planned"],
      ["…", "draft", undefined, "Reads 1 and 2"],
    ]);
    expect(edges).toHaveLength(2);
  });

  test("becomes the adopted workflow under the same keys", () => {
    const adopted = replay(new Trail().submitted().adopted({ s1: [], s2: [], s3: ["s1", "s2"] }).events);
    expect(adopted.steps.map((step) => step.key)).toEqual(drafted(steps).map((step) => step.key));
  });
});
