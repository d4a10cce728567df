import { describe, expect, it, vi } from "vitest";
import { pointsAt, takePoints, Tracks, type Mark, type Source } from "../src/scrub/tracks";

const MARKS: Mark[] = [[410, 6], [500, 11], [1250, 16]];
const BEGAN = "2026-01-01T00:00:04.000Z";
const at = (ms: number): number => Date.parse(BEGAN) + ms;

class Studio implements Source {
  asked: string[] = [];
  isAway = false;

  tracks(code: string) {
    this.asked.push(code);
    if (this.isAway) return Promise.reject(new Error("away"));
    return Promise.resolve({ a11: { at: BEGAN, marks: MARKS } });
  }

  text(code: string, stream: string) {
    this.asked.push(`${code} ${stream}`);
    return this.isAway ? Promise.reject(new Error("away")) : Promise.resolve("South grew most.");
  }
}

const soon = () => new Promise((resolve) => setTimeout(resolve));

async function loaded(studio = new Studio()) {
  const changed = vi.fn();
  const tracks = new Tracks(studio, changed);
  await tracks.load("abc");
  return { tracks, studio, changed };
}

describe("how long a text was", () => {
  it("is told by the last mark before", () => {
    expect([0, 409, 410, 499, 500, 1249, 1250, 1e9].map((ms) => pointsAt(MARKS, ms))).toEqual([0, 0, 6, 6, 11, 11, 16, 16]);
    expect(pointsAt([], 100)).toBe(0);
  });

  it("is counted as Python counts, so that no emoji is cut in half", () => {
    expect(takePoints("a😀b", 2)).toBe("a😀");
    expect(takePoints("ab", 9)).toBe("ab");
    expect(takePoints("ab", 0)).toBe("");
  });
});

describe("a text as it was", () => {
  it("is fetched once somebody looks at a moment in which there was some of it", async () => {
    const { tracks, studio, changed } = await loaded();
    expect(tracks.text("a11", at(100))).toBe("");
    expect(studio.asked).toEqual(["abc"]);

    expect(tracks.text("a11", at(450))).toBe("");
    expect(tracks.text("a11", at(460))).toBe("");
    await soon();
    expect(studio.asked).toEqual(["abc", "abc a11"]);
    expect(changed).toHaveBeenCalledTimes(2);
    expect(tracks.text("a11", at(450))).toBe("South ");
    expect(tracks.text("a11", at(1e6))).toBe("South grew most.");
  });

  it("is not known of a run from before there were tracks", async () => {
    const { tracks } = await loaded();
    expect(tracks.text("a99", at(450))).toBe("");
  });

  it("is asked for again where the studio did not answer", async () => {
    const { tracks, studio } = await loaded();
    studio.isAway = true;
    tracks.text("a11", at(450));
    await soon();
    studio.isAway = false;
    tracks.text("a11", at(450));
    await soon();
    expect(tracks.text("a11", at(450))).toBe("South ");
  });
});

describe("the tracks of a run", () => {
  it("are fetched once, until more may have come", async () => {
    const { tracks, studio } = await loaded();
    await tracks.load("abc");
    expect(studio.asked).toEqual(["abc"]);
    tracks.forget();
    await tracks.load("abc");
    expect(studio.asked).toEqual(["abc", "abc"]);
  });

  it("are fetched again where they could not be", async () => {
    const studio = new Studio();
    studio.isAway = true;
    const tracks = new Tracks(studio, () => undefined);
    await tracks.load("abc");
    studio.isAway = false;
    await tracks.load("abc");
    tracks.text("a11", at(450));
    await soon();
    expect(tracks.text("a11", at(450))).toBe("South ");
  });
});
