import { describe, expect, test } from "vitest";
import { cardAt, HEIGHT, WIDTH, type Places } from "../src/canvas/geometry";
import { criticalLength, edgeWidth, readablePast } from "../src/canvas/model";
import { neighbour } from "../src/canvas/neighbour";
import { route } from "../src/canvas/route";
import { countsOf, graphOf, type View } from "../src/canvas/watching";
import { drafted } from "../src/draft";
import type { DraftStep } from "../src/live/events";
import { replay } from "../src/live/reduce";
import { Trail } from "./trail";

const WORKERS = { atlas: { name: "Atlas", letter: "A", colour: "b", simulated: true } } as const;
const sight = (inside: Record<string, View> = {}) => ({ workers: WORKERS, inside: (code: string) => inside[code] });
const view = (trail: Trail, steps: DraftStep[] | null = null): View => ({
  state: replay(trail.events),
  draft: steps && { proposal: 9, steps },
});

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
    const card = cardAt({ x: 200, y: 0 });
    const { path } = route(from, to, [card]);
    const heights = [...path.matchAll(/L(\S+) (\S+)/g)].map((match) => Number(match[2]));
    expect(heights).toHaveLength(1);
    expect(heights[0]! < card.y || heights[0]! > card.y + HEIGHT).toBe(true);
  });

  test("passes between two cards where there is a gap", () => {
    const column = [-80, 60].map((y) => cardAt({ x: 200, y }));
    const { path } = route(from, to, column);
    expect(path).toContain(`L${200 + WIDTH} `);
    expect(path).not.toContain("NaN");
  });

  test("takes no notice of cards it passes at a distance", () => {
    expect(route(from, to, [cardAt({ x: 200, y: 500 })]).path).toBe("M0 50 L600 50");
  });
});

describe("the cards of a run", () => {
  test("say what they wait for, do, and did", () => {
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: ["s1", "s2"] });
    trail.started("s1", 11).succeeded("s1", 11, "**North**\nleads.").started("s2", 12);
    const { cards, edges } = graphOf(view(trail), sight());
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
    expect(graphOf(view(trail), sight()).cards[0]?.state).toBe("held");
  });

  test("are counted", () => {
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"] });
    expect(countsOf(graphOf(view(trail), sight()))).toBe("2 steps · 1 access edge · critical path 2 steps");
  });

  test("show a worker that the page does not know", () => {
    const trail = new Trail().submitted().adopted({ s1: [] });
    expect(graphOf(view(trail), { ...sight(), workers: {} }).cards[0]?.worker).toMatchObject({ name: "atlas", letter: "A" });
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

  test("of a later round goes on behind the steps that are there, and may read them", () => {
    const later = [
      { position: 3, instruction: "Check", worker: null, access: [2] },
      { position: 4, instruction: "Answer", worker: null, access: [2, 3, 9] },
    ];
    expect(drafted(later, ["s1", "s2", "s7"]).map(({ key, position, access }) => [key, position, access])).toEqual([
      ["s8", 4, ["s7"]],
      ["s9", 5, ["s7", "s8"]],
    ]);
  });

  test("is drawn with what is known of it", () => {
    const { cards, edges } = graphOf(view(new Trail().submitted(), steps), sight());
    expect(cards.map(({ title, state, worker, text }) => [title, state, worker?.name, text])).toEqual([
      ["Count the rows", "draft", "Atlas", "Reads the task alone"],
      ["Sum them", "draft", undefined, "Being planned"],
      ["…", "draft", undefined, "Reads 1 and 2"],
    ]);
    expect(edges).toHaveLength(2);
  });

  test("is announced by a note with its text until a step of it can be told", () => {
    const writing = new Trail().submitted().planned(9, 1);
    expect(graphOf(view(writing), sight()).notes).toMatchObject([{ key: "note:1", title: "The plan", stream: "p9" }]);
    expect(graphOf(view(writing, steps), sight()).notes).toEqual([]);
    expect(graphOf(view(writing.planned(10, 1, null).adopted({ s1: [] })), sight()).notes).toEqual([]);
  });

  test("becomes the adopted workflow under the same keys", () => {
    const adopted = replay(new Trail().submitted().adopted({ s1: [], s2: [], s3: ["s1", "s2"] }).events);
    expect(adopted.steps.map((step) => step.key)).toEqual(drafted(steps).map((step) => step.key));
  });
});

describe("rounds", () => {
  const twice = (): Trail =>
    new Trail().submitted({ rounds: 2 }).planned(1, 1, null).adopted({ s1: [], s2: ["s1"] }).started("s1", 1).succeeded("s1", 1);
  const rounds = (trail: Trail, steps: DraftStep[] | null = null) => graphOf(view(trail, steps), sight()).rounds;

  test("are no groups while there is but one", () => expect(rounds(twice())).toEqual([]));

  test("that are being planned stand in the graph as a note that says so", () => {
    const trail = twice().planned(9, 2);
    const { notes } = graphOf(view(trail), sight());
    expect(rounds(trail).map(({ number, verdict, members }) => [number, verdict, members])).toEqual([
      [1, "", ["s1", "s2"]],
      [2, "being planned", ["note:2"]],
    ]);
    expect(notes[0]).toMatchObject({ title: "Looks at the answer", stream: "p9", access: ["s2"] });
  });

  test("being written hold the drafted steps, under the keys they will have", () => {
    const draft = [{ position: 0, instruction: "Check it", worker: "atlas", access: [] }, { position: 1, instruction: null, worker: null, access: [0] }];
    const { cards, notes } = graphOf(view(twice().planned(9, 2), draft), sight());
    expect(cards.slice(2).map(({ key, position, round, access, state }) => [key, position, round, access, state])).toEqual([
      ["s3", 3, 2, [], "draft"],
      ["s4", 4, 2, ["s3"], "draft"],
    ]);
    expect([rounds(twice().planned(9, 2), draft)[1]?.verdict, notes]).toEqual(["being planned", []]);
  });

  test("say whether they kept or changed what there was", () => {
    expect(rounds(twice().planned(9, 2, "kept"))[1]).toMatchObject({ verdict: "kept", members: ["note:2"], state: "succeeded" });
    const changed = rounds(twice().planned(9, 2, "changed").extended({ s3: ["s2"] }));
    expect(changed[1]).toMatchObject({ verdict: "changed", members: ["s3"], progress: "0 of 1 step" });
    expect(changed[0]).toMatchObject({ progress: "1 of 2 steps" });
  });

  test("that came to nothing say so", () => {
    const data = { proposal: 9, number: 2, round: 2, verdict: null, repairs: [], problems: ["?"], input_tokens: 0, output_tokens: 0 };
    const trail = twice().planned(9, 2).add("planning.failed", { ...data, cost_usd: "0", duration_ms: 1 });
    expect(rounds(trail)[1]).toMatchObject({ verdict: "not planned", state: "failed" });
  });

  test("are counted", () => {
    const trail = twice().extended({ s3: ["s2"] });
    expect(countsOf(graphOf(view(trail), sight()))).toBe("2 rounds · 3 steps · 2 access edges · critical path 3 steps");
  });
});

test("of a planner that goes turn by turn the next turn is a note, and no group", () => {
  const trail = new Trail().submitted({ planner: "trinity" }).planned(1, 1, null).adopted({ s1: [] }).planned(2, 2);
  const { notes, rounds } = graphOf(view(trail), sight());
  expect(notes).toMatchObject([{ key: "note:next", title: "What comes next", access: ["s1"] }]);
  expect(rounds).toEqual([]);
  const after = graphOf(view(trail.planned(2, 2, null).extended({ s2: ["s1"] }, 2)), sight());
  expect([after.notes, after.rounds, after.cards.map(({ round }) => round)]).toEqual([[], [], [1, 1]]);
});

test("a workflow that was run again is drawn in turns where each of its rounds is one step, else in rounds", () => {
  const saved = (last: object): Trail => {
    const steps = [{ key: "s1", round: 1 }, { key: "s2", round: 2 }, { key: "s3", ...last }].map((step) => ({ worker: "atlas", access: [], ...step }));
    const submitted = new Trail().submitted({ planner: "saved" });
    return submitted.add("workflow.adopted", { by: "fork", warnings: [], steps, sink: { kind: "last" } });
  };
  expect(graphOf(view(saved({ round: 3 })), sight()).rounds).toEqual([]);
  expect(graphOf(view(saved({ round: 2 })), sight()).rounds.map(({ verdict }) => verdict)).toEqual(["", ""]);
});

describe("a sink", () => {
  const vote = { kind: "vote", over: ["s1", "s2", "s3", "s4", "s5"] };
  const five = (sink: object): Trail =>
    new Trail().submitted().adopted({ s1: [], s2: [], s3: [], s4: [] }).extended({ s5: [] }, 1, sink);

  test("says what it will count, and how much of it is there", () => {
    const { sink, edges } = graphOf(view(five(vote).started("s2", 1).succeeded("s2", 1)), sight());
    expect(sink).toMatchObject({ kind: "vote", meta: "1 of 5 in", text: "What most of 5 steps say", rows: [], state: "waiting" });
    expect(edges).toEqual([]); // it reads nothing: no worker is asked
  });

  test("that has voted shows the answers and how many said each, the one taken first", () => {
    const counts = { 1: ["s1", "s3"], 2: ["s2", "s4"], 3: ["s5"] };
    const votes = { "vote:1": "42", "vote:2": "41", "vote:3": "7" };
    const { sink } = graphOf(view(five(vote).answered("s3", "vote-tie", { counts, tie: true }, votes)), sight());
    expect(sink).toMatchObject({ meta: "a tie: the first said", taken: ["s1", "s3"] });
    expect(sink?.rows.map(({ label, share, isTaken }) => [label, share, isTaken])).toEqual([
      ["42", "2 of 5", true],
      ["41", "2 of 5", false],
      ["7", "1 of 5", false],
    ]);
  });

  test("has room for three answers, and says how many more there are", () => {
    const counts = { 1: ["s1", "s2"], 2: ["s3"], 3: ["s4"], 4: ["s5"] };
    const votes = { "vote:1": "a", "vote:2": "b", "vote:3": "c", "vote:4": "d" };
    const { sink } = graphOf(view(five(vote).answered("s1", "vote", { counts, tie: false }, votes)), sight());
    expect(sink?.rows.map(({ label }) => label)).toEqual(["a", "b", "2 others"]);
  });

  test("names answers by their numbers once their texts are erased", () => {
    const counts = { 1: ["s1", "s2"], 2: ["s3"] };
    const { sink } = graphOf(view(five(vote).answered("s1", "vote", { counts, tie: false })), sight());
    expect(sink?.rows.map(({ label, share }) => [label, share])).toEqual([["answer 1", "2 of 3"], ["answer 2", "1 of 3"]]);
  });

  test("that has selected shows the weights by step, the chosen first", () => {
    const weights = { s1: 0.21, s2: 3.14159, s3: 12.5, s4: 1, s5: 0.00012 };
    const select = { ...vote, kind: "select" };
    const { sink } = graphOf(view(five(select).answered("s3", "select", { weights })), sight());
    expect(sink?.rows.map(({ label, share }) => [label, share])).toEqual([["Step 3", "12.5"], ["Step 2", "3.14"], ["3 others", ""]]);
    expect(sink?.taken).toEqual(["s3"]);
  });

  test("of the last step is not drawn", () => {
    expect(graphOf(view(five({ kind: "last" })), sight()).sink).toBeNull();
  });
});

describe("a nested run", () => {
  const outer = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).started("s1", 1, 1, { nested: "k9" });
  const inner = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: ["s2"] }).started("s1", 5).succeeded("s1", 5);

  test("folded, is its step with how far it is", () => {
    const { cards } = graphOf(view(outer()), sight({ k9: view(inner()) }));
    expect(cards[0]).toMatchObject({ text: "A run of its own: 1 of 3 steps", nest: { code: "k9", progress: "1 of 3 steps" } });
    expect(cards[1]?.nest).toBeNull();
  });

  test("holds its own steps and reads, under the key of the step it is in", () => {
    const graph = graphOf(view(outer()), sight({ k9: view(inner()) })).cards[0]?.nest?.graph;
    expect(graph?.cards.map(({ key, access, state }) => [key, access, state])).toEqual([
      ["s1/s1", [], "succeeded"],
      ["s1/s2", ["s1/s1"], "waiting"],
      ["s1/s3", ["s1/s2"], "waiting"],
    ]);
    expect(graph?.edges).toMatchObject([{ source: "s1/s1", reader: "s1/s2" }, { source: "s1/s2", reader: "s1/s3" }]);
  });

  test("may hold another", () => {
    const deeper = new Trail().submitted().adopted({ s1: [] });
    const middle = inner().started("s2", 6, 1, { nested: "k10" });
    const graph = graphOf(view(outer()), sight({ k9: view(middle), k10: view(deeper) })).cards[0]?.nest?.graph;
    expect(graph?.cards[1]?.nest?.graph.cards.map(({ key }) => key)).toEqual(["s1/s2/s1"]);
  });

  test("that has no steps yet says what it waits for", () => {
    const note = (inside: Record<string, View>) => graphOf(view(outer()), sight(inside)).cards[0]?.nest?.graph.notes[0];
    expect(note({})?.text).toBe("Its steps are being fetched");
    const planning = new Trail().submitted().add("planning.started", { proposal: 3, number: 1, round: 1, conductor: "sim" });
    expect(note({ k9: view(planning) })).toMatchObject({ key: "s1/note:1", text: "The conductor is writing its plan", stream: "p3" });
  });
});

test("a card has the role its planner gave the step", () => {
  const steps = [{ key: "s1", worker: "atlas", access: [], role: "thinker", round: 1 }];
  const trail = new Trail().submitted().add("workflow.adopted", { by: "planner", warnings: [], steps, sink: { kind: "last" } });
  expect(graphOf(view(trail), sight()).cards[0]?.role).toBe("thinker");
});

describe("doors and limits in the graph", () => {
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"] });
  const waits = { worker: "atlas", why: "place", ahead: 3, until: null, words: "waiting for a place at Atlas (3 ahead)" };
  const cards = (trail: Trail) => graphOf(view(trail), sight()).cards;

  test("a card says why its step waits, and then what is read", () => {
    const trail = begun().add("step.waiting", { step: "s1", ...waits });
    expect(cards(trail).map(({ text, isUrgent }) => [text, isUrgent])).toEqual([
      ["Waiting for a place at Atlas (3 ahead)", true],
      ["Reads 1", false],
    ]);
  });

  test("a card shows who stands in, and for whom", () => {
    const trail = begun().add("step.fellback", { step: "s1", from: "atlas", to: "cedar", kind: "server" });
    expect(cards(trail)[0]).toMatchObject({ worker: { name: "cedar" }, insteadOf: { name: "Atlas" } });
    expect(cards(trail)[1]?.insteadOf).toBeNull();
  });

  test("the step that a limit holds says so, the others what they read", () => {
    const trail = begun().add("run.held", { reason: "limit", step: "s1", limit: {} });
    expect(cards(trail).map(({ state, text }) => [state, text])).toEqual([
      ["held", "Held: its call could cross a limit"],
      ["held", "Reads 1"],
    ]);
  });

  test("what flow rules hold is told at the steps and the edges on its way, until somebody approves it", () => {
    const run = "wxyz6789";
    const rules = [{ run, carries: "secret", needs: "trusted", reader: "s3", model: "atlas", path: ["s1", "s2", "s3"] }];
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: ["s1", "s2"] });
    const held = graphOf(view(trail.add("run.held", { reason: "rules", step: "s3", steps: ["s3"], rules })), sight());
    expect(held.cards.map(({ problems }) => problems.map(({ message, severity }) => `${severity}: ${message}`))).toEqual([
      [],
      [],
      ["error: Atlas may not read what is secret: it is not trusted"],
    ]);
    expect(held.edges.filter(({ problem }) => problem !== null).map(({ source, reader }) => [source, reader])).toEqual([
      ["s1", "s2"],
      ["s2", "s3"],
    ]);
    const approved = graphOf(view(trail.add("run.excepted", { rules }, { reason: "Agreed." })), sight());
    expect([...approved.cards.flatMap(({ problems }) => problems), ...approved.edges.filter(({ problem }) => problem)]).toEqual([]);
  });

  test("what rules hold in a run within is not told at the steps around it", () => {
    const one = { carries: "secret", needs: "trusted", model: "atlas" };
    const rules = [
      { ...one, run: "wxyz6789", reader: "s2", path: ["task:", "s2"] },
      { ...one, run: "abcd2345", reader: "s1", path: ["task:", "s1"] },
    ];
    const held = { reason: "rules", step: "s1", steps: ["s1", "s2"], rules, within: ["abcd2345"] };
    expect(cards(begun().add("run.held", held)).map(({ problems }) => problems.length)).toEqual([0, 1]);
  });

  test("a planner that waits has a note in the place of steps", () => {
    const trail = new Trail().submitted().add("planning.waiting", { conductor: "sim", ...waits });
    const { notes, cards, rounds } = graphOf(view(trail), sight());
    expect(notes).toMatchObject([{ title: "The plan", text: "Waiting for a place at Atlas (3 ahead)" }]);
    expect([cards, rounds]).toEqual([[], []]);
    const later = begun().add("planning.waiting", { conductor: "sim", ...waits });
    expect(graphOf(view(later), sight()).notes).toMatchObject([{ title: "What comes next", access: ["s2"] }]);
  });
});

describe("a run that somebody looks into", () => {
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: ["s2"] }).started("s1", 11).succeeded("s1", 11);
  const cards = (trail: Trail) => graphOf(view(trail), sight()).cards;

  test("marks where it pauses, and says what holds it", () => {
    const marked = begun().add("run.breakpoints", { steps: ["s2", "s3"] });
    expect(cards(marked).map(({ hasBreakpoint }) => hasBreakpoint)).toEqual([false, true, true]);
    expect(cards(marked)[1]?.text).toBe("The run pauses before it");
    const held = cards(marked.add("run.held", { reason: "pause", step: "s2", steps: ["s2"], breakpoint: "s2" }));
    expect(held.map(({ state, text }) => [state, text])).toEqual([
      ["succeeded", "Fine."],
      ["held", "Held: a breakpoint is set before it"],
      ["held", "The run pauses before it"],
    ]);
  });

  test("names who wrote a result, and draws nothing as counted that nobody counted", () => {
    const trail = begun().add("step.written", { step: "s1", attempt: 12, was: "succeeded" }, { result: "By **me**" });
    expect(cards(trail)[0]).toMatchObject({ state: "written", meta: "by hand", text: "By driver 1: By me" });
    expect(graphOf(view(trail), sight()).edges.slice(0, 2).map(({ tokens, isUncounted }) => [tokens, isUncounted])).toEqual([
      [null, true],
      [null, false],
    ]);
  });
});
