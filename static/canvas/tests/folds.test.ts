// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from "vitest";
import { arrange, type Level } from "../src/canvas/arrange";
import { edgesOf, nodesOf, type Counted, type Drawn } from "../src/canvas/flow";
import { Folds } from "../src/canvas/folds";
import { GAP_X, HEAD, HEIGHT, PAD, WIDTH, type Box, type Boxes, type Node, type Places } from "../src/canvas/geometry";
import { layered } from "../src/canvas/layout";
import { levelOf, seenCards } from "../src/canvas/level";
import { around, isRound, isSink } from "../src/canvas/model";
import { place } from "../src/canvas/place";
import { graphOf, type View } from "../src/canvas/watching";
import { replay } from "../src/live/reduce";
import { foldOutline } from "../src/page/groups";
import { Trail } from "./trail";

const node = (key: string, access: string[] | null, round = 1): Node => ({ key, access, round });
const FIRST = [node("s1", []), node("s2", []), node("s3", ["s1", "s2"])];
const SECOND = [node("s4", ["s3"], 2), node("s5", ["s3"], 2), node("s6", ["s4", "s5"], 2)];
const BOTH = [...FIRST, ...SECOND];

const level = (nodes: readonly Node[], folded: readonly number[] = [], inside: Record<string, Level> = {}, prefix = ""): Level => ({
  prefix,
  nodes,
  rounds: [...new Set(nodes.map(({ round }) => round ?? 1))].map((number) => ({
    key: `${prefix}round:${number}`,
    members: nodes.filter(({ round }) => (round ?? 1) === number).map(({ key }) => key),
    isFolded: folded.includes(number),
  })),
  inside: new Map(Object.entries(inside)),
});
const plain = (nodes: readonly Node[], inside: Record<string, Level> = {}, prefix = ""): Level => ({
  ...level(nodes, [], inside, prefix),
  rounds: [],
});
const at = (...levels: Level[]): Map<string, Places> => new Map(levels.map((each) => [each.prefix, layered(each.nodes)]));
const box = (boxes: Boxes, key: string): Box => boxes.get(key) as Box;
const right = ({ x, width }: Box): number => x + width;
const apart = (a: Box, b: Box): boolean =>
  right(a) <= b.x || right(b) <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
const holds = (a: Box, b: Box): boolean =>
  b.x >= a.x && b.y >= a.y && right(b) <= right(a) && b.y + b.height <= a.y + a.height;

describe("rounds stand side by side", () => {
  test("each right of the one before, in a frame that touches no other", () => {
    const boxes = arrange(level(BOTH), at(level(BOTH)));
    for (const key of ["s1", "s2", "s3"]) expect(holds(box(boxes, "round:1"), box(boxes, key))).toBe(true);
    for (const key of ["s4", "s5", "s6"]) expect(holds(box(boxes, "round:2"), box(boxes, key))).toBe(true);
    expect(apart(box(boxes, "round:1"), box(boxes, "round:2"))).toBe(true);
  });

  test("though a step of the later one reads nothing at all", () => {
    const places = layered([...FIRST, node("s4", [], 2)]);
    expect(places.get("s4")!.x).toBeGreaterThan(places.get("s3")!.x + WIDTH);
  });

  test("a later round that comes moves nothing that stands", () => {
    const before = layered(FIRST);
    const note = place([...FIRST, node("note:2", ["s3"], 2)], before);
    const drafts = place([...FIRST, node("s4", null, 2), node("s5", null, 2)], note);
    const after = place(BOTH, drafts, { changed: new Set(["s4", "s5", "s6"]) });
    for (const stage of [note, drafts, after]) {
      for (const { key } of FIRST) expect(stage.get(key)).toEqual(before.get(key));
    }
    expect(after.get("s4")!.x).toBeGreaterThan(before.get("s3")!.x + WIDTH);
    expect(after.get("s4")!.x).toBe(after.get("s5")!.x);
    expect(after.get("s6")!.x).toBeGreaterThan(after.get("s5")!.x);
  });

  test("nor does one that comes after a person moved a step", () => {
    const before: Places = new Map([...layered(FIRST), ["s2", { x: -300, y: 900 }]]);
    const after = place(BOTH, before, { held: new Set(["s2"]), changed: new Set(["s4", "s5", "s6"]) });
    expect([...after].slice(0, 3)).toEqual([...before]);
  });
});

describe("a folded round", () => {
  const open = arrange(level(BOTH), at(level(BOTH)));
  const folded = arrange(level(BOTH, [1]), at(level(BOTH)));

  test("is one card, and its steps are not seen", () => {
    expect(["s1", "s2", "s3"].map((key) => folded.has(key))).toEqual([false, false, false]);
    expect(box(folded, "round:1")).toMatchObject({ width: WIDTH, height: HEIGHT });
  });

  test("draws what is right of it nearer, and leaves it in its order", () => {
    const by = box(open, "s4").x - box(folded, "s4").x;
    expect(by).toBe(WIDTH + GAP_X);
    for (const key of ["s4", "s5", "s6"]) expect(box(folded, key)).toEqual({ ...box(open, key), x: box(open, key).x - by });
  });

  test("does not move what a person has moved", () => {
    const held = arrange(level(BOTH, [1]), at(level(BOTH)), new Set(["s5"]));
    expect(box(held, "s5")).toEqual(box(open, "s5"));
  });
});

describe("a nested run", () => {
  const inner = plain([node("s2/s1", []), node("s2/s2", ["s2/s1"]), node("s2/s3", ["s2/s1"])], {}, "s2/");
  const outer = [node("s1", []), node("s2", []), node("s3", []), node("s4", ["s1", "s2", "s3"])];
  const folded = arrange(plain(outer), at(plain(outer)));
  const unfolded = arrange(plain(outer, { s2: inner }), at(plain(outer), inner));

  test("unfolds where its step stands, around its own steps", () => {
    expect(box(unfolded, "s2")).toMatchObject({ x: box(folded, "s2").x, y: box(folded, "s2").y });
    for (const key of ["s2/s1", "s2/s2", "s2/s3"]) expect(holds(box(unfolded, "s2"), box(unfolded, key))).toBe(true);
    expect(box(unfolded, "s2/s1").y).toBeGreaterThanOrEqual(box(unfolded, "s2").y + HEAD);
  });

  test("pushes aside what it would cover, and nothing else", () => {
    for (const key of ["s1", "s3", "s4"]) expect(apart(box(unfolded, "s2"), box(unfolded, key))).toBe(true);
    expect(box(unfolded, "s1")).toEqual(box(folded, "s1"));
    expect(box(unfolded, "s3").x).toBe(box(folded, "s3").x);
    expect(box(unfolded, "s4").y).toBe(box(folded, "s4").y);
  });

  test("folded again, leaves everything where it was", () => {
    expect(arrange(plain(outer), at(plain(outer), inner))).toEqual(folded);
  });

  test("pushes nothing that a person has put somewhere", () => {
    const held = arrange(plain(outer, { s2: inner }), at(plain(outer), inner), new Set(["s4"]));
    expect(box(held, "s4")).toEqual(box(folded, "s4"));
  });

  test("makes room once where two of a column unfold", () => {
    const other = plain([node("s3/s1", [])], {}, "s3/");
    const both = arrange(plain(outer, { s2: inner, s3: other }), at(plain(outer), inner, other));
    expect(box(both, "s4").x).toBe(box(unfolded, "s4").x);
    expect(apart(box(both, "s2"), box(both, "s3"))).toBe(true);
  });

  test("grows with a run that is nested in it", () => {
    const deep = plain([node("s2/s1/s1", []), node("s2/s1/s2", ["s2/s1/s1"])], {}, "s2/s1/");
    const around = { ...inner, inside: new Map([["s2/s1", deep]]) };
    const boxes = arrange(plain(outer, { s2: around }), at(plain(outer), inner, deep));
    expect(box(boxes, "s2").width).toBeGreaterThan(box(unfolded, "s2").width);
    expect(holds(box(boxes, "s2"), box(boxes, "s2/s1"))).toBe(true);
    expect(holds(box(boxes, "s2/s1"), box(boxes, "s2/s1/s2"))).toBe(true);
    expect(apart(box(boxes, "s2/s1"), box(boxes, "s2/s2"))).toBe(true);
  });

  test("has a margin inside its frame", () => {
    expect(box(unfolded, "s2/s1").x).toBeGreaterThanOrEqual(box(unfolded, "s2").x + PAD);
  });
});

describe("what is folded", () => {
  const trail = new Trail()
    .submitted({ rounds: 2 })
    .planned(1, 1, null)
    .adopted({ s1: [], s2: ["s1"] })
    .started("s2", 2, 1, { nested: "k9" })
    .planned(3, 2, "changed")
    .extended({ s3: ["s2"], s4: ["s1", "s2"] }, 2, { kind: "vote", over: ["s2", "s3"] });
  const inner: View = { state: replay(new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).events), draft: null };
  const graph = graphOf({ state: replay(trail.events), draft: null }, { workers: {}, inside: () => inner });
  const drawn = (folds: Folds) => {
    const seen = levelOf(graph, folds);
    const levels = [seen, ...seen.inside.values()];
    const boxes = arrange(seen, at(...levels));
    return { nodes: nodesOf(graph, boxes, folds), edges: edgesOf(graph, boxes, folds) };
  };
  const types = (folds: Folds): string[] => drawn(folds).nodes.map(({ id, type }) => `${id} ${type}`);
  const lines = (folds: Folds): string[] => drawn(folds).edges.map(({ id }) => id);

  test("rounds are open and nested runs folded until somebody turns them", () => {
    expect(types(new Folds())).toEqual(["round:1 round", "round:2 round", "s1 step", "s2 step", "s3 step", "s4 step", "sink: sink"]);
    expect(seenCards(graph, new Folds()).map(({ key }) => key)).toEqual(["s1", "s2", "s3", "s4"]);
  });

  test("an unfolded run brings its steps and edges into the graph, in their order", () => {
    const folds = new Folds();
    folds.toggle("s2");
    expect(types(folds)).toContain("s2 nest");
    expect(types(folds)).toContain("s2/s1 step");
    expect(lines(folds)).toContain("s2/s1>s2/s2");
    expect(seenCards(graph, folds).map(({ key }) => key)).toEqual(["s1", "s2", "s2/s1", "s2/s2", "s3", "s4"]);
    expect(drawn(folds).nodes.find(({ id }) => id === "s2/s1")?.draggable).toBe(false);
  });

  test("the edges of a folded round lead to its card, several as one", () => {
    const folds = new Folds();
    folds.toggle("round:1");
    expect(lines(folds).sort()).toEqual(["round:1>s3", "round:1>s4", "round:1>sink:", "s3>sink:"]);
    const edge = drawn(folds).edges.find(({ id }) => id === "round:1>s4")?.data as Drawn;
    expect([edge.isWhole, edge.what]).toEqual([false, "Step 4 may read round 1"]);
    expect(seenCards(graph, folds).map(({ key }) => key)).toEqual(["s3", "s4"]);
  });

  test("a count is another line than a read", () => {
    const { edges } = drawn(new Folds());
    expect(edges.filter(({ type }) => type === "count").map(({ id, data }) => [id, (data as Counted).what])).toEqual([
      ["s2>sink:", "Step 2 is counted"],
      ["s3>sink:", "Step 3 is counted"],
    ]);
    expect(edges.filter(({ type }) => type === "access")).toHaveLength(4);
  });

  test("whatever hides a step unfolds for it", () => {
    const folds = new Folds();
    folds.toggle("round:1");
    folds.reveal("s2/s1", graph);
    expect([folds.isOpen("round:1"), folds.isOpen("s2"), folds.isOpen("round:2")]).toEqual([true, true, true]);
  });

  test("the tab remembers, and a forbidden storage does no harm", () => {
    const folds = new Folds("folds k1");
    folds.toggle("s2");
    expect(new Folds("folds k1").isOpen("s2")).toBe(true);
    sessionStorage.setItem("folds k2", "{not json");
    expect(new Folds("folds k2").isOpen("s2")).toBe(false);
  });

  test("keys tell steps, rounds, sinks and what they are in", () => {
    expect([isRound("round:2"), isRound("s1/round:2"), isRound("round-2"), isSink("s1/sink:"), isSink("sink")]).toEqual([true, true, false, true, false]);
    expect([around("s1"), around("s2/s1/s3")]).toEqual([[], ["s2", "s2/s1"]]);
  });
});

describe("the outline", () => {
  const group = (): HTMLDetailsElement => document.querySelector("details") as HTMLDetailsElement;
  beforeEach(() => {
    document.body.innerHTML = '<details data-fold="round:2" open><summary>Round 2</summary></details>';
  });

  test("folds with the graph, and the graph with it", () => {
    const folds = new Folds();
    foldOutline(folds);
    document.querySelector<HTMLElement>("summary")?.click();
    expect([folds.isOpen("round:2"), group().open]).toEqual([false, false]);
    folds.toggle("round:2");
    expect(group().open).toBe(true);
  });

  test("that was fetched again is folded as it was left", () => {
    const folds = new Folds();
    const show = foldOutline(folds);
    folds.toggle("round:2");
    document.body.innerHTML = '<details data-fold="round:2" open><summary>Round 2</summary></details>';
    show();
    expect(group().open).toBe(false);
  });
});
