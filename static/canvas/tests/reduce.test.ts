import { describe, expect, test } from "vitest";
import { reduce, replay } from "../src/live/reduce";
import { NOTHING, planningRound, stepOf, type RunState } from "../src/live/state";
import { Trail } from "./trail";

const statuses = (state: RunState): Record<string, string> =>
  Object.fromEntries(state.steps.map((step) => [step.key, step.status]));

describe("a run that goes well", () => {
  const trail = new Trail()
    .submitted()
    .add("run.claimed", { driver: "d", claim: 1 })
    .add("planning.started", { proposal: 5, number: 1, conductor: "sim" })
    .add(
      "planning.done",
      { proposal: 5, number: 1, steps: 2, input_tokens: 50, output_tokens: 30, cost_usd: "0.002", duration_ms: 900, ttft_ms: 80 },
      { raw: "…" },
    )
    .adopted({ s1: [], s2: ["s1"] })
    .started("s1", 11)
    .succeeded("s1", 11, "North leads.")
    .started("s2", 12)
    .succeeded("s2", 12, "North.", null)
    .add("run.succeeded", { rule: "last", step: "s2", duration_ms: 9000, cost_usd: null, tokens: 320 }, { answer: "North." });
  const state = replay(trail.events);

  test("ends with its answer and every step done", () => {
    expect(state).toMatchObject({ status: "succeeded", answer: "North.", answerStep: "s2", seq: 10 });
    expect(statuses(state)).toEqual({ s1: "succeeded", s2: "succeeded" });
  });

  test("keeps the steps in their order, with instructions and reads", () => {
    expect(state.steps.map(({ key, position, instruction, access }) => [key, position, instruction, access])).toEqual([
      ["s1", 1, "Do s1.", []],
      ["s2", 2, "Do s2.", ["s1"]],
    ]);
  });

  test("adds up what was billed, and says when a price is missing", () => {
    expect(state.tokens).toBe(80 + 120 + 120);
    expect(state.costUsd).toBeCloseTo(0.012);
    expect(state.unpriced).toBe(true);
  });

  test("remembers how the plan was made", () => {
    expect(state.planning).toMatchObject([{ proposal: 5, status: "done", tokens: 80 }]);
  });

  test("can be seen as it was after any event", () => {
    const after = (seq: number): RunState => replay(trail.events.slice(0, seq));
    expect(after(3).status).toBe("planning");
    expect(after(5)).toMatchObject({ status: "running", adoptedBy: "planner" });
    expect(statuses(after(6))).toEqual({ s1: "running", s2: "waiting" });
    expect(after(9)).toMatchObject({ status: "running", answer: null });
  });

  test("is the same whether its events come at once or one by one, even twice", () => {
    const twice = trail.events.flatMap((event) => [event, event]);
    expect(replay(twice)).toEqual(state);
  });
});

describe("identity", () => {
  const running = replay(new Trail().submitted().adopted({ s1: [], s2: [] }).started("s1", 11).events);

  test("an event seen before changes nothing at all", () => {
    const again = new Trail().submitted().events[0]!;
    expect(reduce(running, again)).toBe(running);
  });

  test("a step that an event does not touch stays the same object", () => {
    const next = new Trail().submitted().adopted({ s1: [], s2: [] }).started("s1", 11).started("s2", 12).events[3]!;
    const after = reduce(running, next);
    expect(stepOf(after, "s1")).toBe(stepOf(running, "s1"));
    expect(stepOf(after, "s2")).not.toBe(stepOf(running, "s2"));
  });
});

describe("what goes wrong", () => {
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"], s3: [] });
  const failed = { step: "s1", attempt: 11, number: 1, kind: "rate_limited", retryable: true, status: 429, retry_in_s: 2, duration_ms: 90 };

  test("a failed attempt leaves the step running until there is no other", () => {
    const trail = begun().started("s1", 11).add("attempt.failed", failed, { error: "429 slow down" });
    expect(stepOf(replay(trail.events), "s1")).toMatchObject({
      status: "running",
      attempts: [{ id: 11, status: "failed", error: "429 slow down", retryInS: 2 }],
    });

    const state = replay(trail.started("s1", 12, 2).succeeded("s1", 12).events);
    expect(stepOf(state, "s1")).toMatchObject({
      status: "succeeded",
      attempts: [
        { number: 1, status: "failed" },
        { number: 2, status: "succeeded" },
      ],
    });
  });

  test("steps that read a failed one are skipped, and say because of which", () => {
    const trail = begun()
      .started("s1", 11)
      .add("step.failed", { step: "s1", attempt: 11, kind: "auth" }, { error: "bad key" })
      .add("step.skipped", { step: "s2", because: ["s1"] })
      .add("run.failed", { step: "s1", code: "step" }, { error: "Step 1 failed." });
    const state = replay(trail.events);
    expect(statuses(state)).toEqual({ s1: "failed", s2: "skipped", s3: "waiting" });
    expect(stepOf(state, "s2")?.because).toEqual(["s1"]);
    expect(state).toMatchObject({ status: "failed", error: "Step 1 failed." });
  });

  test("a step can fail before any attempt", () => {
    const state = replay(begun().add("step.failed", { step: "s1", attempt: null, kind: "gone" }).events);
    expect(stepOf(state, "s1")).toMatchObject({ status: "failed", error: "gone", attempts: [] });
  });

  test("a stop cuts what runs, cancels what waits, and leaves what is done", () => {
    const trail = begun()
      .started("s3", 13)
      .succeeded("s3", 13)
      .started("s1", 11)
      .add("run.stopped", { cutting: ["s1"] })
      .add("attempt.cut", { step: "s1", attempt: 11, chars: 40 });
    const state = replay(trail.events);
    expect(statuses(state)).toEqual({ s1: "cancelled", s2: "cancelled", s3: "succeeded" });
    expect(state.status).toBe("cancelled");
  });

  test("what arrives after a stop is billed and changes nothing else", () => {
    const trail = begun()
      .started("s1", 11)
      .add("run.stopped", { cutting: ["s1"] })
      .add("attempt.late", { step: "s1", attempt: 11, input_tokens: 100, output_tokens: 20, cost_usd: "0.5" });
    const state = replay(trail.events);
    expect(state).toMatchObject({ status: "cancelled", tokens: 120, costUsd: 0.5 });
    expect(stepOf(state, "s1")).toMatchObject({ status: "cancelled", attempts: [{ status: "late" }] });
  });

  test("the attempt of a driver that died is lost, and the step waits for the next driver", () => {
    const trail = begun().started("s1", 11).add("attempt.lost", { step: "s1", attempt: 11 });
    expect(stepOf(replay(trail.events), "s1")).toMatchObject({ status: "waiting", attempts: [{ status: "lost" }] });
  });

  test("no later event makes a finished run live again", () => {
    const trail = begun().add("run.stopped", { cutting: [] }).started("s1", 11).add("run.approved");
    expect(replay(trail.events).status).toBe("cancelled");
  });

  test("an event that nobody here knows moves the cursor and nothing else", () => {
    const before = replay(begun().events);
    const after = replay(begun().add("run.sung", { song: "?" }).events);
    expect(after).toEqual({ ...before, seq: before.seq + 1 });
  });
});

test("a plan that failed says why, and the next try stands beside it", () => {
  const done = { steps: 0, input_tokens: 10, output_tokens: 5, cost_usd: "0", duration_ms: 5, ttft_ms: 1 };
  const trail = new Trail()
    .submitted()
    .add("planning.started", { proposal: 5, number: 1, conductor: "sim" })
    .add("planning.failed", { proposal: 5, number: 1, ...done }, { raw: "Hm." })
    .add("planning.started", { proposal: 6, number: 2, conductor: "sim" })
    .add("planning.lost", { proposal: 6, number: 2 })
    .add("planning.started", { proposal: 7, number: 3, conductor: "sim" });
  expect(replay(trail.events).planning).toMatchObject([
    { proposal: 5, status: "failed", tokens: 15 },
    { proposal: 6, status: "failed" },
    { proposal: 7, status: "running" },
  ]);
});

test("a held run waits for approval and then goes on", () => {
  const trail = new Trail().submitted().adopted({ s1: [] }).add("run.held", { reason: "review" });
  expect(replay(trail.events)).toMatchObject({ status: "held", heldFor: "review" });
  expect(replay(trail.add("run.approved").events)).toMatchObject({ status: "running", heldFor: null });
});

test("a workflow that a person adopted replaces the one before", () => {
  const trail = new Trail().submitted().adopted({ s1: [], s2: [] }).adopted({ s2: [], s4: ["s2"] }, "person");
  expect(replay(trail.events)).toMatchObject({ adoptedBy: "person", steps: [{ key: "s2", position: 1 }, { key: "s4" }] });
});

test("a reused step costs nothing and says where it is from and what it once cost", () => {
  const data = { step: "s1", attempt: 11, source: { run: "k40", attempt: 3 }, once_cost_usd: "0.004", output_tokens: 312 };
  const trail = new Trail().submitted().adopted({ s1: [] }, "fork").add("step.reused", data, { result: "North." });
  const state = replay(trail.events);
  expect(stepOf(state, "s1")).toMatchObject({
    status: "reused",
    costUsd: 0,
    onceCostUsd: 0.004,
    outputTokens: 312,
    result: "North.",
    source: { run: "k40", attempt: 3 },
  });
  expect(state.tokens).toBe(0);
});

test("nothing has happened before the first event", () => {
  expect(replay([])).toBe(NOTHING);
});

describe("rounds", () => {
  const first = (): Trail =>
    new Trail().submitted({ rounds: 2 }).planned(5, 1, null).adopted({ s1: [], s2: ["s1"] }).started("s1", 1).succeeded("s1", 1);

  test("a later one is planned while the run goes on", () => {
    const state = replay(first().planned(6, 2).events);
    expect(state).toMatchObject({ status: "running", rounds: 2 });
    expect(planningRound(state)).toBe(2);
  });

  test("appends steps and leaves those that are there the very same", () => {
    const trail = first();
    const before = replay(trail.events);
    const after = replay(trail.planned(6, 2, "changed").extended({ s3: [], s4: ["s2", "s3"] }).events.slice(before.seq), before);
    expect(after.steps.map(({ key, position, round }) => [key, position, round])).toEqual([
      ["s1", 1, 1],
      ["s2", 2, 1],
      ["s3", 3, 2],
      ["s4", 4, 2],
    ]);
    expect([after.steps[0], after.steps[1]]).toEqual([before.steps[0], before.steps[1]]);
    expect(after.steps[0]).toBe(before.steps[0]);
    expect(after.planning.at(-1)).toMatchObject({ round: 2, verdict: "changed" });
  });

  test("may be kept", () => {
    const state = replay(first().planned(6, 2, "kept").events);
    expect([state.steps.length, state.planning.at(-1)?.verdict]).toEqual([2, "kept"]);
    expect(planningRound(state)).toBeNull();
  });

  test("told twice, joins each step once", () => {
    const trail = first().extended({ s3: ["s2"] }).extended({ s3: ["s2"] });
    expect(replay(trail.events).steps.map(({ key }) => key)).toEqual(["s1", "s2", "s3"]);
  });
});

test("a step may have a role, and become a run of its own", () => {
  const steps = [{ key: "s1", worker: "atlas", access: [], role: "thinker", round: 1 }];
  const trail = new Trail().submitted().add("workflow.adopted", { by: "planner", warnings: [], steps, sink: { kind: "last" } });
  trail.started("s1", 7, 1, { nested: "k42" });
  expect(replay(trail.events).steps[0]).toMatchObject({ role: "thinker", nested: "k42", status: "running" });
});

test("a run may be nested in another, and says in which", () => {
  const nested_in = { run: "k40", step: "s3", attempt: 9 };
  expect(replay(new Trail().submitted({ nested_in }).events).nestedIn).toEqual(nested_in);
});

test("a step whose texts were erased says so", () => {
  const { events } = new Trail().submitted().adopted({ s1: [] }).started("s1", 1).succeeded("s1", 1);
  const state = replay(events.map((event) => ({ ...event, texts: {} })) as typeof events);
  expect(state.steps).toMatchObject([{ instruction: "Erased", result: "Erased", status: "succeeded" }]);
});

test("a vote ends with how it was taken", () => {
  const detail = { counts: { 1: ["s1", "s3"], 2: ["s2"] }, tie: false };
  const votes = { "vote:1": "42", "vote:2": "41" };
  const sink = { kind: "vote", over: ["s1", "s2", "s3"] };
  const state = replay(new Trail().submitted().adopted({ s1: [], s2: [] }).extended({ s3: [] }, 1, sink).answered("s1", "vote", detail, votes).events);
  const counts = { "42": ["s1", "s3"], "41": ["s2"] };
  expect(state).toMatchObject({ sink, answerRule: "vote", answerDetail: { counts, tie: false }, answerStep: "s1" });
});

test("trails from before there were sinks have the last step's", () => {
  expect(replay(new Trail().submitted().adopted({ s1: [] }).events).sink).toEqual({ kind: "last" });
});

test("what people must know of the planning is kept in its order", () => {
  const trail = new Trail().submitted().add("planning.fellback", { from: "conductor", to: "direct" }, { reason: "It is down." });
  trail.add("run.noticed", {}, { reason: "Round 2 was not planned." });
  expect(replay(trail.events).notices).toEqual(["It is down.", "Round 2 was not planned."]);
});

test("what an embedding worker took is counted, also where it failed, and an unknown price stays unknown", () => {
  const trail = new Trail().submitted().add("embedding.failed", { worker: "sim-embed", input_tokens: 0, cost_usd: "0" });
  trail.add("embedding.done", { worker: "sim-embed", input_tokens: 17, cost_usd: "3.4E-7" });
  const known = replay(trail.events);
  expect(known).toMatchObject({ tokens: 17, costUsd: 3.4e-7, unpriced: false });

  trail.add("embedding.done", { worker: "mine", input_tokens: 5, cost_usd: null });
  expect(replay(trail.events)).toMatchObject({ tokens: 22, costUsd: 3.4e-7, unpriced: true });
});

describe("a step that cannot be called yet", () => {
  const waits = { worker: "birch", why: "place", ahead: 3, until: null, words: "waiting for a place at Birch (3 ahead)" };
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: [] });
  const waiting = (trail: Trail, key = "s1"): string | undefined => stepOf(replay(trail.events), key)?.waiting;

  test("says why, and no more once it is called", () => {
    const trail = begun().add("step.waiting", { step: "s1", ...waits });
    expect(waiting(trail)).toBe("waiting for a place at Birch (3 ahead)");
    expect(waiting(trail, "s2")).toBe("");
    expect(waiting(trail.started("s1", 11))).toBe("");
  });

  test("says why it is not tried again yet", () => {
    const failed = { step: "s1", attempt: 11, number: 1, kind: "rate_limited", retryable: true, retry_in_s: 2, duration_ms: 9 };
    const trail = begun().started("s1", 11).add("attempt.failed", failed).add("step.waiting", { step: "s1", ...waits });
    expect(stepOf(replay(trail.events), "s1")).toMatchObject({ status: "running", waiting: waits.words });
  });

  test.each([
    ["run.stopped", { cutting: [] }],
    ["run.held", { reason: "limit", step: "s2", limit: {} }],
    ["step.failed", { step: "s1", attempt: null, kind: "circuit" }],
  ])("waits no more after %s", (verb, data) => {
    expect(waiting(begun().add("step.waiting", { step: "s1", ...waits }).add(verb, data))).toBe("");
  });

  test("a planner that waits says so until it is asked", () => {
    const trail = new Trail().submitted().add("planning.waiting", { conductor: "sim", ...waits });
    expect(replay(trail.events)).toMatchObject({ status: "planning", planningWaits: waits.words });
    trail.add("planning.started", { proposal: 5, number: 1, conductor: "sim" });
    expect(replay(trail.events).planningWaits).toBe("");
  });
});

test("who stands in is the step's worker from then on, and in whose place is remembered", () => {
  const data = { step: "s1", from: "atlas", to: "cedar", kind: "server" };
  const trail = new Trail().submitted().adopted({ s1: [] }).add("step.fellback", data, { reason: "it broke" });
  const standIn = { from: "atlas", to: "cedar", kind: "server", reason: "it broke" };
  expect(stepOf(replay(trail.events), "s1")).toMatchObject({ worker: "cedar", standIn });
});

describe("a run held at a limit", () => {
  const held = (): Trail =>
    new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).add("run.held", { reason: "limit", step: "s2", limit: {} });

  test("says at which step, and goes on when it is let", () => {
    expect(replay(held().events)).toMatchObject({ status: "held", heldFor: "limit", heldAt: "s2" });
    const resumed = replay(held().add("run.resumed", { limit_usd: "1" }).events);
    expect(resumed).toMatchObject({ status: "running", heldFor: null, heldAt: null });
  });

  test("before it had a plan, it is queued again", () => {
    const trail = new Trail().submitted().add("run.held", { reason: "limit", step: null, limit: {} });
    expect(replay(trail.add("run.resumed", { limit_usd: null }).events).status).toBe("queued");
  });

  test("once stopped, it is not let go on", () => {
    const trail = held().add("run.stopped", { cutting: [] }).add("run.resumed", { limit_usd: "1" });
    expect(replay(trail.events).status).toBe("cancelled");
  });
});

describe("a run that somebody looks into", () => {
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).started("s1", 11);

  test("is being paused until what is under way has ended", () => {
    const asked = begun().add("run.pausing");
    expect(replay(asked.events)).toMatchObject({ status: "running", pausing: true });
    const held = asked.succeeded("s1", 11).add("run.held", { reason: "pause", step: "s2", steps: ["s2"] });
    expect(replay(held.events)).toMatchObject({ status: "held", pausing: false, heldFor: "pause", heldAt: "s2", brokeAt: null });
    expect(replay(held.add("run.resumed", { limit_usd: null }).events)).toMatchObject({ status: "running", heldFor: null, heldAt: null });
  });

  test("is held before a breakpoint, and forgets it when it goes on", () => {
    const held = begun()
      .add("run.breakpoints", { steps: ["s2"] })
      .succeeded("s1", 11)
      .add("run.held", { reason: "pause", step: "s2", steps: ["s2"], breakpoint: "s2" });
    expect(replay(held.events)).toMatchObject({ breakpoints: ["s2"], brokeAt: "s2" });
    expect(replay(held.add("run.resumed", { limit_usd: null }).events)).toMatchObject({ breakpoints: ["s2"], brokeAt: null });
  });

  test("has a result that a person wrote in the place of the worker's, which stays paid", () => {
    const trail = begun().succeeded("s1", 11, "South.", "0.01").add("step.written", { step: "s1", attempt: 12, was: "succeeded" }, { result: "North.", before: "South.", reason: "wrong" });
    const state = replay(trail.events);
    expect(stepOf(state, "s1")).toMatchObject({ status: "written", result: "North.", writtenBy: "driver 1", costUsd: 0.01 });
    expect(stepOf(state, "s1")?.attempts.map(({ number, status }) => [number, status])).toEqual([[1, "succeeded"], [2, "written"]]);
    expect(state.costUsd).toBeCloseTo(0.01);
  });

  test("is over when its plan is rejected, and says who did and why", () => {
    const trail = new Trail().submitted().adopted({ s1: [] }).add("run.held", { reason: "review" }).add("run.rejected", {}, { reason: "too dear" });
    const state = replay(trail.events);
    expect(state).toMatchObject({ status: "cancelled", rejected: { by: "driver 1", reason: "too dear" } });
    expect(statuses(state)).toEqual({ s1: "cancelled" });
  });

  test("stays held while its plan is edited, with the steps of the new one", () => {
    const trail = new Trail().submitted().adopted({ s1: [] }).add("run.held", { reason: "review" }).adopted({ s1: [], s2: ["s1"] }, "review");
    expect(replay(trail.events)).toMatchObject({ status: "held", heldFor: "review", adoptedBy: "review" });
    expect(replay(trail.add("run.approved").events)).toMatchObject({ status: "running", heldFor: null });
    expect(Object.keys(statuses(replay(trail.events)))).toEqual(["s1", "s2"]);
  });
});
