import { describe, expect, test } from "vitest";
import { countPoints, dropPoints, Streams, tail } from "../src/live/streams";

const THUMB = "👍🏽"; // two code points, four UTF-16 units

describe("a stream", () => {
  test("grows by what is added at its end", () => {
    const streams = new Streams();
    expect(streams.apply("a1", 0, "Hello")).toEqual({ kind: "grew", added: "Hello" });
    expect(streams.apply("a1", 5, " world")).toEqual({ kind: "grew", added: " world" });
    expect(streams.text("a1")).toBe("Hello world");
  });

  test("knows a piece that comes twice", () => {
    const streams = new Streams();
    streams.apply("a1", 0, "Hello");
    expect(streams.apply("a1", 0, "Hello")).toEqual({ kind: "known" });
    expect(streams.apply("a1", 2, "ll")).toEqual({ kind: "known" });
    expect(streams.text("a1")).toBe("Hello");
  });

  test("takes only the new part of a piece that overlaps", () => {
    const streams = new Streams();
    streams.apply("a1", 0, "Hello");
    expect(streams.apply("a1", 3, "lo world")).toEqual({ kind: "grew", added: " world" });
  });

  test("says from where it lacks something, and keeps what it has", () => {
    const streams = new Streams();
    streams.apply("a1", 0, "Hello");
    expect(streams.apply("a1", 9, "rld")).toEqual({ kind: "gap", from: 5 });
    expect(streams.text("a1")).toBe("Hello");
    expect(streams.apply("a1", 5, " world")).toMatchObject({ kind: "grew" });
    expect(streams.text("a1")).toBe("Hello world");
  });

  test("that was joined in the middle asks for its beginning", () => {
    expect(new Streams().apply("a1", 7, "late")).toEqual({ kind: "gap", from: 0 });
  });

  test("counts code points, not UTF-16 units", () => {
    const streams = new Streams();
    streams.apply("a1", 0, "𝔸😀");
    expect(streams.points("a1")).toBe(2);
    expect(streams.apply("a1", 2, "b")).toEqual({ kind: "grew", added: "b" });
    expect(streams.text("a1")).toBe("𝔸😀b");
  });

  test("trims an overlap of emoji without cutting one in half", () => {
    const streams = new Streams();
    streams.apply("a1", 0, `a😀${THUMB}`);
    expect(streams.apply("a1", 1, `😀${THUMB}🎉!`)).toEqual({ kind: "grew", added: "🎉!" });
    expect(streams.text("a1")).toBe(`a😀${THUMB}🎉!`);
  });

  test("is not mixed up with another", () => {
    const streams = new Streams();
    streams.apply("a1", 0, "one");
    streams.apply("p1", 0, "two");
    expect([streams.text("a1"), streams.text("p1"), streams.text("a2")]).toEqual(["one", "two", ""]);
  });

  test("comes out whole however it was cut, doubled and delayed", () => {
    const whole = Array.from("Zürich 🏔️ → 東京 🗼: 9 600 km 😀😀😀, so far.");
    for (let seed = 1; seed <= 50; seed += 1) {
      const streams = new Streams();
      let random = seed;
      const pick = (below: number): number => (random = (random * 48271) % 2147483647) % below;
      while (streams.points("a1") < whole.length) {
        const from = Math.max(0, streams.points("a1") - pick(6) + pick(3));
        const applied = streams.apply("a1", from, whole.slice(from, from + 1 + pick(9)).join(""));
        if (applied.kind === "gap") expect(applied.from).toBe(streams.points("a1"));
      }
      expect(streams.text("a1")).toBe(whole.join(""));
    }
  });
});

describe("code points", () => {
  test("are counted", () => expect([countPoints(""), countPoints("ab"), countPoints(`😀${THUMB}`)]).toEqual([0, 2, 3]));
  test("are dropped from the front", () => {
    expect([dropPoints("a😀b", 0), dropPoints("a😀b", 1), dropPoints("a😀b", 2), dropPoints("a😀b", 9)]).toEqual([
      "a😀b",
      "😀b",
      "b",
      "",
    ]);
  });
});

describe("the tail of a text", () => {
  test("is all of a short one", () => expect(tail("Short.", 60)).toBe("Short."));
  test("is one line", () => expect(tail("a\n\n  b\tc", 60)).toBe("a b c"));
  test("says that something was left out", () => expect(tail("one two three", 5)).toBe("…three"));
  test("leaves emoji whole", () => expect(tail("😀".repeat(10), 3)).toBe("…😀😀😀"));
  test("of a long text starts with the mark too", () => expect(tail(`${"x".repeat(1000)} end`, 3)).toBe("…end"));
});
