import { describe, expect, test } from "vitest";
import type { Frame, RunEvent } from "../src/live/events";
import { Session } from "../src/live/session";
import { Streams } from "../src/live/streams";
import { Trail } from "./trail";

function session() {
  const asked: string[] = [];
  let now = 0;
  const it = new Session(
    { hello: () => asked.push("hello"), fill: (stream, from) => asked.push(`fill ${stream} ${from}`) },
    new Streams(),
    () => now,
  );
  return { it, asked, later: (ms: number) => void (now += ms) };
}

const frame = (events: readonly RunEvent[]): Frame => ({ t: "events", events: [...events], head: events.at(-1)?.seq ?? 0 });
const STEPS = [{ position: 1, instruction: "Count", worker: null, access: null }];

describe("a session", () => {
  test("tells its listeners once of events that come twice", () => {
    const { it } = session();
    const told: number[] = [];
    it.listen({ onEvents: (events) => told.push(...events.map((event) => event.seq)) });
    const { events } = new Trail().submitted().adopted({ s1: [] }).started("s1", 1);
    it.take(frame(events.slice(0, 2)));
    it.take(frame(events));
    expect(told).toEqual([1, 2, 3]);
  });

  test("asks again when events are missing, and goes on when there are none", () => {
    const { it, asked } = session();
    const { events } = new Trail().submitted().adopted({ s1: [] }).started("s1", 1);
    it.take(frame(events.slice(0, 1)));
    it.take(frame(events.slice(2)));
    expect([asked, it.state.seq]).toEqual([["hello"], 1]);
    it.take(frame(events.slice(2)));
    expect([asked, it.state.seq]).toEqual([["hello"], 3]);
  });

  test("asks once for a text with a gap, and again only after a while", () => {
    const { it, asked, later } = session();
    it.take({ t: "deltas", deltas: [["a1", 4, "later"]] });
    it.take({ t: "deltas", deltas: [["a1", 9, "still"]] });
    expect(asked).toEqual(["fill a1 0"]);
    later(2_500);
    it.take({ t: "deltas", deltas: [["a1", 14, "!"]] });
    expect(asked).toEqual(["fill a1 0", "fill a1 0"]);
  });

  test("knows when a text began that it saw begin, and of no other", () => {
    const { it, later } = session();
    later(300);
    it.take({ t: "deltas", deltas: [["a1", 0, "One"], ["a2", 3, "half"]] });
    it.take({ t: "text", stream: "a2", from: 0, text: "Onehalf" });
    later(300);
    it.take({ t: "deltas", deltas: [["a1", 0, "One"], ["a1", 3, " two"], ["a2", 7, "."]] });
    expect([it.begunAt("a1"), it.begunAt("a2")]).toEqual([300, undefined]);
  });

  test("fills the gap from the answer, and goes on", () => {
    const { it } = session();
    const grown: string[] = [];
    it.listen({ onText: (stream) => grown.push(stream) });
    it.take({ t: "deltas", deltas: [["a1", 4, "🙂 later"]] });
    it.take({ t: "text", stream: "a1", from: 0, text: "One 🙂 la" });
    it.take({ t: "deltas", deltas: [["a1", 6, "later"]] });
    expect(it.streams.text("a1")).toBe("One 🙂 later");
    expect(grown).toEqual(["a1", "a1"]);
  });

  test("shows a draft until its workflow is adopted", () => {
    const { it } = session();
    it.take({ t: "draft", proposal: 5, steps: STEPS });
    expect(it.draft?.proposal).toBe(5);
    it.take(frame(new Trail().submitted().adopted({ s1: [] }).events));
    expect(it.draft).toBeNull();
    it.take({ t: "draft", proposal: 5, steps: STEPS });
    expect(it.draft).toBeNull();
  });

  test.each(["planning.failed", "planning.lost", "planning.cut"])("takes a draft away after %s", (verb) => {
    const { it } = session();
    it.take({ t: "draft", proposal: 5, steps: STEPS });
    const data = { proposal: 5, number: 1, input_tokens: 0, output_tokens: 0, cost_usd: "0" };
    it.take(frame(new Trail().submitted().add(verb, data).events));
    expect(it.draft).toBeNull();
  });

  test("shows the draft of a later round beside the steps that are there, until they are joined", () => {
    const { it } = session();
    const trail = new Trail().submitted({ rounds: 2 }).planned(5, 1, null).adopted({ s1: [] });
    it.take(frame(trail.events));
    it.take({ t: "draft", proposal: 6, steps: STEPS }); // may come before its planning is told of
    expect(it.draft?.proposal).toBe(6);
    it.take(frame(trail.planned(6, 2, "changed").events));
    expect(it.draft?.proposal).toBe(6);
    it.take(frame(trail.extended({ s2: ["s1"] }).events));
    expect(it.draft).toBeNull();
    it.take({ t: "draft", proposal: 6, steps: STEPS });
    expect(it.draft).toBeNull();
  });

  test("takes no draft of a plan that is done with", () => {
    const { it } = session();
    it.take(frame(new Trail().submitted({ rounds: 2 }).planned(5, 1, null).adopted({ s1: [] }).planned(6, 2, "kept").events));
    for (const proposal of [4, 5, 6]) it.take({ t: "draft", proposal, steps: STEPS });
    expect(it.draft).toBeNull();
  });

  test("takes the draft away when the round keeps what there is", () => {
    const { it } = session();
    const trail = new Trail().submitted({ rounds: 2 }).planned(5, 1, null).adopted({ s1: [] }).planned(6, 2);
    it.take(frame(trail.events));
    it.take({ t: "draft", proposal: 6, steps: STEPS });
    const data = { proposal: 6, number: 2, round: 2, verdict: "kept", input_tokens: 0, output_tokens: 0 };
    it.take(frame(trail.add("planning.done", { ...data, cost_usd: "0", duration_ms: 1 }).events));
    expect(it.draft).toBeNull();
  });
});
