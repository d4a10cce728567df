import { describe, expect, test } from "vitest";
import type { RunEvent } from "../src/live/events";
import { Nests } from "../src/live/nests";
import { replay } from "../src/live/reduce";
import type { Session } from "../src/live/session";
import { Streams } from "../src/live/streams";
import { Trail } from "./trail";

/** Lines that are opened are noted, and say what the test has them say. */
function nests() {
  const lines: string[] = [];
  const sessions = new Map<string, () => Session>();
  const told: string[] = [];
  const streams = new Streams();
  const it = new Nests({
    streams,
    open: (code, session) => {
      sessions.set(code, session);
      return {
        start: () => void lines.push(`${code} opened`),
        end: () => void lines.push(`${code} closed`),
        hello: () => undefined,
        fill: () => undefined,
      };
    },
    onEvents: ({ path }, events) => void told.push(...events.map(({ verb }) => `${path} ${verb}`)),
    onText: (stream) => void told.push(stream),
    onDraft: () => undefined,
  });
  const say = (code: string, events: readonly RunEvent[]): void =>
    sessions.get(code)?.().take({ t: "events", events: [...events], head: events.length });
  return { it, lines, told, streams, say, session: (code: string) => sessions.get(code)?.() };
}

const nesting = (step: string, code: string): Trail =>
  new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).started(step, 1, 1, { nested: code });

describe("nested runs", () => {
  test("are followed once, from when their step begins", () => {
    const { it, lines } = nests();
    it.follow(replay(new Trail().submitted().adopted({ s1: [] }).events));
    expect(lines).toEqual([]);
    const state = replay(nesting("s2", "k9").events);
    it.follow(state);
    it.follow(state);
    expect([lines, it.all().map(({ path }) => path)]).toEqual([["k9 opened"], ["s2"]]);
  });

  test("are followed into those that are nested in them", () => {
    const { it, lines, say, told } = nests();
    it.follow(replay(nesting("s2", "k9").events));
    say("k9", nesting("s1", "k10").events);
    expect(lines).toEqual(["k9 opened", "k10 opened"]);
    expect(it.all().map(({ path }) => path)).toEqual(["s2", "s2/s1"]);
    expect(told.at(-1)).toBe("s2 step.started");
  });

  test("are let go of when they are over", () => {
    const { it, lines, say } = nests();
    it.follow(replay(nesting("s2", "k9").events));
    say("k9", new Trail().submitted().adopted({ s1: [] }).started("s1", 5).succeeded("s1", 5).answered("s1").events);
    expect(lines).toEqual(["k9 opened", "k9 closed"]);
    expect(it.get("k9")?.state.status).toBe("succeeded");
  });

  test("write their texts where the page's own are", () => {
    const { it, session, streams, told } = nests();
    it.follow(replay(nesting("s2", "k9").events));
    session("k9")?.take({ t: "deltas", deltas: [["a55", 0, "Inside"]] });
    expect([streams.text("a55"), told]).toEqual(["Inside", ["a55"]]);
  });
});
