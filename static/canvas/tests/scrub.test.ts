// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Tails } from "../src/canvas/tails";
import { Streams } from "../src/live/streams";
import { ScrubBar, type Moment } from "../src/scrub/bar";
import { History } from "../src/scrub/history";
import { Scrub } from "../src/scrub/scrub";
import { leaveThen, showThen, type Then } from "../src/scrub/then";
import { replay } from "../src/live/reduce";
import { Trail } from "./trail";

const BAR = `
  <section id="scrub" hidden>
    <button data-go="back"></button><button data-go="on"></button><button data-go="play">Play</button>
    <select data-speed><option value="1">1×</option><option value="16">16×</option></select>
    <input type="range" min="1" max="1" step="any" value="1"><output></output><button data-go="now" hidden></button>
  </section>`;

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

let calm = false;
const bar = (): HTMLElement => document.getElementById("scrub") as HTMLElement;
const range = (): HTMLInputElement => bar().querySelector("input") as HTMLInputElement;
const press = (go: string): void => (bar().querySelector(`[data-go="${go}"]`) as HTMLElement).click();
const key = (name: string): void => void range().dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));

beforeEach(() => {
  calm = false;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "requestAnimationFrame", "cancelAnimationFrame", "performance"] });
  vi.stubGlobal("matchMedia", () => ({ matches: calm }));
  document.body.innerHTML = BAR;
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  delete document.body.dataset.then;
});

function withBar(events = trail().events) {
  const history = new History();
  history.add(events);
  const moments: (number | null)[] = [];
  const rests: (number | null)[] = [];
  const at = (moment: Moment | null): number | null => moment?.position ?? null;
  const made = new ScrubBar(bar(), {
    history,
    onMoment: (moment) => moments.push(at(moment)),
    onRest: (moment) => rests.push(at(moment)),
  });
  made.grew();
  return { made, history, moments, rests };
}

describe("the bar", () => {
  it("shows once there is something to go back to", () => {
    const { made, history } = withBar([]);
    expect(bar().hidden).toBe(true);
    history.add(trail().events);
    made.grew();
    expect(bar().hidden).toBe(false);
    expect(range().max).toBe("8");
    expect(range().value).toBe("8");
    expect(bar().querySelector("output")?.textContent).toBe("8 events");
  });

  it("goes event by event with its buttons, and back to the present", () => {
    const { moments } = withBar();
    press("back");
    press("back");
    press("on");
    press("now");
    expect(moments).toEqual([7, 6, 7, null]);
    expect(document.activeElement).toBe(range());
  });

  it("goes to whole events with the keys, and no further than there are any", () => {
    const { moments } = withBar();
    for (const name of ["ArrowLeft", "Home", "ArrowLeft", "PageUp", "ArrowRight", "PageDown", "End", "Escape"]) key(name);
    expect(moments).toEqual([7, 1, 1, 8, 8, 1, 8, null]);
  });

  it("can be dragged to between two events, and goes from there to the next", () => {
    const { moments } = withBar();
    range().value = "4.5";
    range().dispatchEvent(new Event("input"));
    press("back");
    range().value = "4.5";
    range().dispatchEvent(new Event("input"));
    press("on");
    expect(moments).toEqual([4.5, 4, 4.5, 5]);
  });

  it("says where it is, also to who does not see it", () => {
    withBar();
    range().value = "4.5";
    range().dispatchEvent(new Event("input"));
    const said = "4 of 8 · step.started · 3.5 s";
    expect(range().getAttribute("aria-valuetext")).toBe(said);
    expect(bar().querySelector("output")?.textContent).toBe(said);
  });

  it("tells where it came to rest, not every place on the way", () => {
    const { rests } = withBar();
    press("back");
    press("back");
    vi.advanceTimersByTime(500);
    press("now");
    vi.advanceTimersByTime(500);
    expect(rests).toEqual([6, null]);
  });
});

describe("playing", () => {
  it("begins at the first event from the present, and ends at the last", () => {
    const { moments } = withBar();
    press("play");
    expect(moments[0]).toBe(1);
    expect(bar().querySelector('[data-go="play"]')?.textContent).toBe("Stop");
    vi.advanceTimersByTime(20_000);
    expect(moments.at(-1)).toBe(8);
    expect(bar().querySelector('[data-go="play"]')?.textContent).toBe("Play");
    const between = moments.filter((at): at is number => at !== null);
    expect(between.length).toBeGreaterThan(50);
    expect(between.every((at, index) => index === 0 || at >= (between[index - 1] as number))).toBe(true);
  });

  it("lasts as long as the run did, and a sixteenth of that at 16×", () => {
    const { moments } = withBar();
    press("play");
    vi.advanceTimersByTime(3_500);
    expect(moments.at(-1)).toBeGreaterThan(4.3);
    expect(moments.at(-1)).toBeLessThan(4.7);
    press("now");
    (bar().querySelector("select") as HTMLSelectElement).value = "16";
    press("play");
    vi.advanceTimersByTime(600);
    expect(moments.at(-1)).toBe(8);
  });

  it("stops where it is when it is pressed again, or something else is", () => {
    const { moments } = withBar();
    press("play");
    vi.advanceTimersByTime(1_000);
    press("play");
    const stopped = moments.at(-1);
    vi.advanceTimersByTime(1_000);
    expect(moments.at(-1)).toBe(stopped);
    press("play");
    vi.advanceTimersByTime(100);
    press("back");
    const count = moments.length;
    vi.advanceTimersByTime(1_000);
    expect(moments.length).toBe(count);
  });

  it("goes from event to event where less motion is asked for", () => {
    calm = true;
    const { moments } = withBar();
    press("play");
    vi.advanceTimersByTime(20_000);
    expect(moments).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

const PAGE = `
  <div id="head"><span class="pill" data-state="succeeded">Succeeded</span>
    <dl class="facts"><div><dt>Elapsed</dt><dd data-elapsed="9">9.0 s</dd></div><div><dt>Tokens</dt><dd>240</dd></div><div><dt>Spent</dt><dd><a>$0.02</a></dd></div><div><dt>Profile</dt><dd>ultra</dd></div></dl>
    <div class="strip"><span data-state="succeeded"></span><span data-state="succeeded"></span></div></div>
  <div id="outline">
    <a data-step="s1"><span class="dot" data-state="succeeded"></span><span class="sub"><span class="chip">A</span><span class="clip">1.5 s</span></span></a>
    <a data-step="s2"><span class="dot" data-state="succeeded"></span><span class="sub"><span class="chip">A</span><span class="clip">1.5 s</span></span></a></div>
  <aside id="panel"></aside><aside id="then" hidden></aside>`;

function then(after: number, text: (stream: string) => string = () => ""): Then {
  const state = replay(trail().events.slice(0, after));
  return { state, goneMs: (after - 1) * 1000, says: `As it was at event ${after} of 8`, inside: () => undefined, text };
}

const said = (selector: string): string => document.querySelector(selector)?.textContent?.trim() ?? "";

describe("the page as it was", () => {
  beforeEach(() => {
    document.body.innerHTML = PAGE;
  });

  it("has the head, the outline and the strip of then", () => {
    showThen(then(6), null);
    expect(said(".pill")).toBe("Running");
    expect(Array.from(document.querySelectorAll("dd"), (each) => each.textContent)).toEqual(["5.0 s", "120", "$0.010", "ultra"]);
    expect(document.querySelector("[data-elapsed]")).toBeNull();
    expect(Array.from(document.querySelectorAll<HTMLElement>("#outline .dot"), (each) => each.dataset.state)).toEqual(["succeeded", "running"]);
    expect(Array.from(document.querySelectorAll("#outline .clip"), (each) => each.textContent)).toEqual(["1.5 s · $0.010", "running"]);
    expect(Array.from(document.querySelectorAll<HTMLElement>(".strip span"), (each) => each.dataset.state)).toEqual(["succeeded", "running"]);
  });

  it("says of a step that was not planned yet that it was not", () => {
    showThen(then(2), "s2");
    expect(Array.from(document.querySelectorAll("#outline .clip"), (each) => each.textContent)).toEqual(["not planned yet", "not planned yet"]);
    expect(said("#then .label")).toBe("There was no such step yet");
  });

  it("shows what the chosen step had written by then, and its result once it was there", () => {
    showThen(then(4, (stream) => (stream === "a11" ? "Sou" : "")), "s1");
    expect(said("#then h2")).toBe("1 · Do s1");
    expect([said("#then .label"), said("#then pre")]).toEqual(["Writing", "Sou"]);
    showThen(then(4), "s1");
    expect([said("#then .label"), said("#then pre")]).toEqual(["Waiting for the first token", ""]);
    showThen(then(5), "s1");
    expect([said("#then .label"), said("#then pre")]).toEqual(["done", "South"]);
  });

  it("shows the answer of the run once it was there", () => {
    showThen(then(7), null);
    expect(said("#then .label")).toBe("2 of 2 steps done");
    showThen(then(8), null);
    expect([said("#then .label"), said("#then pre")]).toEqual(["The answer", "North."]);
  });

  it("gives way to the present", () => {
    showThen(then(4), "s1");
    expect([document.getElementById("panel")?.hidden, document.getElementById("then")?.hidden]).toEqual([true, false]);
    leaveThen();
    expect([document.getElementById("panel")?.hidden, document.getElementById("then")?.hidden]).toEqual([false, true]);
    expect(document.body.dataset.then).toBeUndefined();
  });
});

describe("scrubbing", () => {
  function scrub() {
    const calls = { redraw: vi.fn(), told: vi.fn(), refresh: vi.fn() };
    const tails = new Tails(new Streams());
    const source = {
      tracks: () => Promise.resolve({ a11: { at: "2026-01-01T00:00:04.000Z", marks: [[200, 2], [900, 5]] as [number, number][] } }),
      text: () => Promise.resolve("South"),
    };
    document.body.innerHTML = BAR + PAGE;
    const made = new Scrub({ code: "abc", bar: bar(), tails, selected: () => "s1", ...calls, source });
    made.add(trail().events);
    return { made, tails, ...calls };
  }

  const now = { state: replay(trail().events), draft: null };

  it("draws the present until somebody looks back", () => {
    const { made } = scrub();
    expect(made.view(now)).toBe(now);
    expect(made.says).toBeNull();
  });

  it("draws the run as it was, with the words that were there", async () => {
    const { made, tails, redraw } = scrub();
    range().value = "4.5";
    range().dispatchEvent(new Event("input"));
    await vi.advanceTimersByTimeAsync(100);
    await vi.advanceTimersByTimeAsync(100);
    expect(made.view(now).state).toEqual(replay(trail().events.slice(0, 4)));
    expect(tails.get("a11").text).toBe("So");
    expect(made.says).toBe("event 4 of 8");
    expect(redraw).toHaveBeenCalled();
    expect(said("#then pre")).toBe("So");
  });

  it("goes back to the present and has the page fetched again", async () => {
    const { made, tails, refresh } = scrub();
    press("back");
    await vi.advanceTimersByTimeAsync(100);
    press("now");
    expect(made.view(now)).toBe(now);
    expect(refresh).toHaveBeenCalledTimes(1);
    expect(tails.get("a11").text).toBe("");
  });

  it("keeps the event in the address, where a reload finds it", async () => {
    const { made } = scrub();
    press("back");
    await vi.advanceTimersByTimeAsync(500);
    expect(new URL(location.href).searchParams.get("at")).toBe("7");
    press("now");
    await vi.advanceTimersByTimeAsync(500);
    expect(new URL(location.href).searchParams.has("at")).toBe(false);
    made.begin("http://studio/runs/abc/?at=5");
    expect(made.says).toBe("event 5 of 8");
    for (const none of ["", "x", "-3", "0", "1.5"]) {
      made.leave();
      made.begin(`http://studio/runs/abc/?at=${none}`);
      expect(made.says).toBeNull();
    }
  });

  it("has a nested run as it was at the same moment", () => {
    const { made } = scrub();
    const inner = trail().events.map((event) => ({ ...event, at: new Date(Date.parse(event.at) + 2_500).toISOString() }));
    made.add(inner, "xyz");
    range().value = "6";
    range().dispatchEvent(new Event("input"));
    expect(made.inside("xyz", now)?.state).toEqual(replay(inner.slice(0, 3)));
    expect(made.inside("other", now)).toBeUndefined();
  });
});
