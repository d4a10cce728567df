import { describe, expect, it } from "vitest";
import { History, writing } from "../src/scrub/history";
import { replay } from "../src/live/reduce";
import { Trail } from "./trail";

/** A run of two steps; the trail's events are a second apart. */
function trail(): Trail {
  return new Trail()
    .submitted()
    .add("run.claimed", { driver: "d" })
    .adopted({ s1: [], s2: ["s1"] })
    .started("s1", 11)
    .succeeded("s1", 11, "South")
    .started("s2", 12)
    .succeeded("s2", 12, "South grew.")
    .answered("s2");
}

function history(of = trail()): History {
  const made = new History();
  made.add(of.events);
  return made;
}

describe("the run at a position", () => {
  it("is what the events up to there make of it, in whatever order one looks", () => {
    const [{ events }, past] = [trail(), history()];
    for (const at of [8, 1, 5, 3, 8, 2, 4, 7, 6, 0]) expect(past.state(at)).toEqual(replay(events.slice(0, at)));
  });

  it("is the same between two events as after the first of them", () => {
    const past = history();
    expect(past.state(4.9)).toBe(past.state(4));
    expect(past.event(4.9)?.verb).toBe("step.started");
  });

  it("costs what it should cost then", () => {
    expect(history().state(4).costUsd).toBe(0);
    expect(history().state(5).costUsd).toBe(0.01);
    expect(history().state(8).costUsd).toBe(0.02);
  });

  it("is found again in a long trail without going over all of it", () => {
    const long = new Trail().submitted().adopted({ s1: [] });
    for (let number = 1; number <= 450; number += 1) long.started("s1", number, number);
    const past = history(long);
    expect(past.state(452)).toEqual(replay(long.events));
    expect(past.state(230)).toEqual(replay(long.events.slice(0, 230)));
    expect(past.state(231)).toEqual(replay(long.events.slice(0, 231)));
    expect(past.state(99)).toEqual(replay(long.events.slice(0, 99)));
  });

  it("takes no event twice, however often it is told of it", () => {
    const [{ events }, past] = [trail(), history()];
    past.add(events);
    past.add(events.slice(3, 5));
    expect(past.length).toBe(8);
  });
});

describe("time", () => {
  const start = Date.UTC(2026, 0, 1, 0, 0, 1);

  it("passes evenly from one event to the next", () => {
    expect(history().time(1)).toBe(start);
    expect(history().time(3.25)).toBe(start + 2_250);
  });

  it("leads back to the position", () => {
    const past = history();
    for (const position of [1, 1.5, 3.25, 7.75, 8]) expect(past.position(past.time(position))).toBeCloseTo(position);
    expect(past.position(start - 1)).toBe(0);
    expect(past.position(start + 60_000)).toBe(8);
  });

  it("leads behind all that happened in the same moment", () => {
    const both = trail();
    const same = both.events.map((event) => ({ ...event, at: event.seq === 5 ? both.events[3]!.at : event.at }));
    const past = new History();
    past.add(same);
    expect(past.position(Date.parse(same[3]!.at))).toBe(5);
  });

  it("does not run backwards where a clock was set back", () => {
    const events = trail().events.map((event) => (event.seq === 6 ? { ...event, at: "2025-01-01T00:00:00Z" } : event));
    const past = new History();
    past.add(events);
    expect(past.time(6)).toBe(past.time(5));
    expect(past.time(7)).toBeGreaterThan(past.time(6));
  });
});

describe("playing", () => {
  it("goes on by the time that has passed while something is being written", () => {
    expect(history().later(4, 500)).toBeCloseTo(4.5);
    expect(history().later(4, 1_000)).toBe(5);
  });

  it("passes quickly over what nobody worked in", () => {
    const idle = trail();
    const events = idle.events.map((event) => {
      const late = event.seq >= 6 ? 3_600_000 : 0; // an hour between the first step's end and the second's start
      return { ...event, at: new Date(Date.parse(event.at) + late).toISOString() };
    });
    const past = new History();
    past.add(events);
    expect(past.later(5, 750)).toBeCloseTo(5.5);
    expect(past.later(5, 1_500)).toBe(6);
    expect(past.later(4, 1_000 + 1_500 + 250)).toBeCloseTo(6.25);
  });

  it("ends at the last event, from wherever", () => {
    expect(history().later(1, 1e9)).toBe(8);
    expect(history().later(8, 100)).toBe(8);
    expect(history().later(-5, 0)).toBe(1);
  });
});

describe("the place after an event of the trail", () => {
  it("is found by its number", () => {
    expect(history().afterSeq(5)).toBe(5);
    expect(history().afterSeq(99)).toBe(8);
  });

  it("is that of the one before where it is missing", () => {
    const past = new History();
    past.add(trail().events.filter(({ seq }) => seq !== 5));
    expect(past.afterSeq(5)).toBe(4);
    expect(past.afterSeq(6)).toBe(5);
  });
});

describe("what is being written", () => {
  it("is named by its streams", () => {
    const { events } = trail().planned(3, 2);
    expect(writing(replay(events.slice(0, 4)))).toEqual(["a11"]);
    expect(writing(replay(events.slice(0, 5)))).toEqual([]);
    expect(writing(replay(events))).toEqual(["p3"]);
  });
});
