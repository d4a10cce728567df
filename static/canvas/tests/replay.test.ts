// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";
import type { RunEvent } from "../src/live/events";
import { Page } from "../src/replay/page";
import { fromFile, Recorded, stepsIn } from "../src/replay/recorded";

const BEGIN = Date.parse("2026-03-02T12:00:00Z");

/** An event `s` seconds after the run began. */
const event = (seq: number, s: number, verb: string, data: object = {}, texts: object = {}): RunEvent =>
  ({ seq, at: new Date(BEGIN + s * 1000).toISOString(), verb, data, texts }) as unknown as RunEvent;

const steps = (...keys: string[]) =>
  keys.map((key, index) => ({ key, worker: "a", access: keys.slice(0, index), role: "", round: 1 }));

const billed = { input_tokens: 10, output_tokens: 5, estimated: false, cost_usd: "0.01", ttft_ms: 1, duration_ms: 1 };

const OUTER = [
  event(1, 0, "run.submitted", { planner: "conductor", pool: [], rounds: 1 }, { task: "T" }),
  event(2, 1, "workflow.adopted", { by: "planner", warnings: [], steps: steps("s1", "s2"), sink: { kind: "last" } }),
  event(3, 2, "step.started", { step: "s1", attempt: 7, number: 1, worker: "a", nested: "nested-1" }),
  event(4, 8, "step.succeeded", { step: "s1", attempt: 7, ...billed }, { result: "deep" }),
  event(5, 9, "step.started", { step: "s2", attempt: 8, number: 1, worker: "a" }),
  event(6, 13, "step.succeeded", { step: "s2", attempt: 8, ...billed }, { result: "42" }),
  event(7, 13, "run.succeeded", { rule: "last", step: "s2", duration_ms: 13, cost_usd: "0.02", tokens: 30 }, { answer: "42" }),
];
const INNER = [
  event(1, 3, "run.submitted", { planner: "conductor", pool: [], rounds: 1 }, { task: "inner" }),
  event(2, 4, "workflow.adopted", { by: "planner", warnings: [], steps: steps("s1"), sink: { kind: "last" } }),
  event(3, 5, "step.started", { step: "s1", attempt: 9, number: 1, worker: "a" }),
  event(4, 7, "step.succeeded", { step: "s1", attempt: 9, ...billed }, { result: "inner" }),
];
const recorded = (): Recorded => new Recorded({ "": OUTER, "nested-1": INNER });

describe("a recorded run", () => {
  it("is at every position what it was then", () => {
    const statuses = [1, 2, 3, 5, 7].map((at) => recorded().at(at).state.status);

    expect(statuses).toEqual(["queued", "running", "running", "running", "succeeded"]);
    expect(recorded().at(5).state.steps.map((step) => step.status)).toEqual(["succeeded", "running"]);
  });

  it("shows the runs nested in it as they were at the same time", () => {
    // Half of the six seconds in which its step was under way: the fifth second of the run.
    const inside = recorded().at(3.5).inside.get("nested-1");

    expect(inside?.steps.map((step) => step.status)).toEqual(["running"]);
    expect(recorded().at(2).inside.size).toBe(0);
    expect(recorded().at(7).inside.get("nested-1")?.steps[0]?.status).toBe("succeeded");
  });

  it("finds every step by the way to it", () => {
    expect([...stepsIn(recorded().at(7)).keys()].sort()).toEqual(["s1", "s1/s1", "s2"]);
    expect(stepsIn(recorded().at(3)).get("s1/s1")).toBeUndefined();
  });

  it("takes tracks and texts from the file and fetches nothing", async () => {
    const track = { at: "2026-03-02T12:00:09Z", marks: [[100, 1]] as const };
    const source = fromFile({ runs: {}, tracks: { "": { a8: track } }, texts: { a8: "42" }, workers: {} });

    expect(await source.tracks("")).toEqual({ a8: track });
    expect(await source.tracks("nested-9")).toEqual({});
    expect([await source.text("", "a8"), await source.text("", "a9")]).toEqual(["42", ""]);
  });
});

describe("the page of a recorded run", () => {
  beforeEach(() => {
    document.body.innerHTML = `
      <span class="pill" data-now="status" data-state="succeeded"><i class="dot" data-state="succeeded"></i><b>Succeeded</b></span>
      <b data-now="elapsed">13.0 s</b><b data-now="tokens">30</b><b data-now="cost">$0.02</b>
      <section id="answer"><p data-when="answered">42</p><p data-until="answered" hidden>none yet</p></section>
      <details class="step" data-key="s2"><summary><i class="dot" data-state="succeeded"></i></summary>
        <div data-when="asked">asked</div><p data-when="answered">42</p><p data-until="answered" hidden></p></details>`;
  });

  const shown = (selector: string): boolean => !document.querySelector<HTMLElement>(selector)?.hidden;
  const said = (selector: string): string => document.querySelector(selector)?.textContent ?? "";

  it("says what was there at a moment, and what a step had written by then", () => {
    const then = recorded().at(5);

    new Page(BEGIN).show(then, stepsIn(then), (stream) => (stream === "a8" ? "4" : ""));

    expect([said('[data-now="elapsed"]'), said('[data-now="tokens"]'), said(".pill b")]).toEqual(["9.0 s", "15", "Running"]);
    expect(document.querySelector(".step .dot")?.getAttribute("data-state")).toBe("running");
    expect([shown('.step [data-when="asked"]'), shown('.step [data-when="answered"]')]).toEqual([true, false]);
    expect(said('.step [data-until="answered"]')).toBe("4");
    expect(shown('#answer [data-when="answered"]')).toBe(false);
  });

  it("shows nothing of a step that was not there yet", () => {
    const then = recorded().at(1);

    new Page(BEGIN).show(then, stepsIn(then), () => "");

    expect(shown('.step [data-when="asked"]')).toBe(false);
    expect(said('.step [data-until="answered"]')).toBe("Nothing yet at this event.");
    expect(said('[data-now="cost"]')).toBe("nothing yet");
  });

  it("is at the end what the server wrote", () => {
    const before = document.body.innerHTML;
    const page = new Page(BEGIN);
    const then = recorded().at(1);
    page.show(then, stepsIn(then), () => "");

    page.end();

    expect(document.body.innerHTML.replace("Nothing yet at this event.", "")).toBe(before);
  });
});
