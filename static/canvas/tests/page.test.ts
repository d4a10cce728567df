// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { replay } from "../src/live/reduce";
import { Streams } from "../src/live/streams";
import { Announcer, sentences, within } from "../src/page/announce";
import { Clock } from "../src/page/clock";
import { showFirstTokens } from "../src/page/firstToken";
import { describeLine } from "../src/page/line";
import { staleParts, type Part } from "../src/page/parts";
import { coalesced } from "../src/page/refresh";
import { breakByKey, Panel, stepPath } from "../src/page/panel";
import { selectByClick, selectionIn, stepAfter, withSelection } from "../src/page/selection";
import { Texts } from "../src/page/texts";
import { Trail } from "./trail";

const at = (selector: string): HTMLElement => document.querySelector<HTMLElement>(selector) as HTMLElement;
const parse = (html: string): void => {
  document.body.innerHTML = html;
};

describe("streamed texts", () => {
  let streams: Streams;
  let texts: Texts;
  const followed: string[] = [];

  beforeEach(() => {
    followed.length = 0;
    streams = new Streams();
    const follow = {
      attach: (_: HTMLElement, stream: string) => void followed.push(`attach ${stream}`),
      grew: (_: HTMLElement, stream: string) => void followed.push(`grew ${stream}`),
    };
    texts = new Texts(streams, follow, (then) => then());
  });

  const says = (stream: string, text: string): void => {
    streams.apply(stream, streams.points(stream), text);
    texts.grew(stream);
  };

  test("appear wherever their stream is shown", () => {
    parse('<p data-stream="a1"></p><pre data-stream="p1"></pre><b data-stream="a1"></b>');
    says("a1", "One ");
    says("a1", "two");
    expect([at("p").textContent, at("b").textContent, at("pre").textContent]).toEqual(["One two", "One two", ""]);
  });

  test("are text, whatever they say", () => {
    parse('<p data-stream="a1"></p>');
    says("a1", "<img src=x onerror=alert(1)>");
    says("a1", "<script>");
    expect(at("p").childElementCount).toBe(0);
    expect(at("p").textContent).toBe("<img src=x onerror=alert(1)><script>");
  });

  test("give an element that comes later all that was said so far", () => {
    says("a1", "So far.");
    parse('<p data-stream="a1">So</p>');
    texts.find();
    expect(at("p").textContent).toBe("So far.");
    says("a1", " And on.");
    expect(at("p").textContent).toBe("So far. And on.");
  });

  test("leave what the server wrote until something is known here", () => {
    parse('<p data-stream="a9">From the server.</p>');
    texts.find();
    expect(at("p").textContent).toBe("From the server.");
  });

  test("are followed, and marked while they are written", () => {
    parse('<p data-stream="a1"></p>');
    says("a1", "One");
    says("a1", " two");
    expect(followed).toEqual(["attach a1", "grew a1"]);
    expect(at("p").hasAttribute("data-writing")).toBe(true);
    texts.close("a1");
    expect(at("p").hasAttribute("data-writing")).toBe(false);
  });
});

describe("fetching parts again", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("happens at once, and then at most once in a pause", () => {
    const act = vi.fn();
    const refresh = coalesced(act);
    for (let time = 0; time < 20; time += 1) {
      refresh();
      vi.advanceTimersByTime(50);
    }
    expect(act.mock.calls.length).toBeLessThanOrEqual(5);
    vi.advanceTimersByTime(1000);
    const all = act.mock.calls.length;
    vi.advanceTimersByTime(5000);
    expect(act).toHaveBeenCalledTimes(all);
  });

  test("never forgets the last change", () => {
    const act = vi.fn();
    const refresh = coalesced(act);
    refresh();
    refresh();
    expect(act).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(250);
    expect(act).toHaveBeenCalledTimes(2);
  });
});

describe("what an event makes stale", () => {
  const stale = (trail: Trail, selected: string | null): Part[] => {
    const before = replay(trail.events.slice(0, -1));
    const last = trail.events.slice(-1);
    return [...staleParts(last, before, replay(last, before), selected)].sort();
  };
  const running = (): Trail => new Trail().submitted().adopted({ s1: [], s2: [] }).started("s1", 11);

  test("is the panel when the selected step changed", () => {
    expect(stale(running().succeeded("s1", 11), "s1")).toEqual(["answer", "head", "outline", "panel"]);
  });
  test("is not the panel when another step changed", () => {
    expect(stale(running().succeeded("s1", 11), "s2")).toEqual(["answer", "head", "outline"]);
  });
  test("is the panel without a step when the run itself changed", () => {
    expect(stale(running().succeeded("s1", 11), null)).not.toContain("panel");
    expect(stale(running().add("run.failed", { step: null, code: "x" }), null)).toContain("panel");
  });
  test("is the panel of any step when the run is held or goes on, which changes what can be done", () => {
    const held = running().add("run.held", { reason: "pause", step: "s2" });
    expect(stale(held, "s1")).toContain("panel");
    expect(stale(held.add("run.resumed", { limit_usd: null }), "s1")).toContain("panel");
  });
  test("is the head alone when no step is concerned", () => {
    expect(stale(running().add("run.takenover", { driver: "e", claim: 2, lost: "d" }), "s1")).toEqual(["head"]);
  });
});

describe("what is said aloud", () => {
  test("names the step, its title and its state", () => {
    const trail = new Trail().submitted().adopted({ s1: [], s2: ["s1"] }).started("s1", 1);
    trail.add("step.failed", { step: "s1", attempt: 1, kind: "auth" }).add("step.skipped", { step: "s2", because: ["s1"] });
    expect(sentences(trail.events, replay(trail.events))).toEqual([
      "The plan has 2 steps.",
      "Step 1, Do s1, is running.",
      "Step 1, Do s1, failed.",
      "Step 2, Do s2, is skipped because of step 1.",
    ]);
  });

  test("is said together when it happens together", () => {
    vi.useFakeTimers();
    parse('<div id="announce"></div>');
    const announcer = new Announcer(at("#announce"));
    announcer.say("One.");
    announcer.say("Two.", "Three.");
    vi.advanceTimersByTime(1000);
    expect(at("#announce").textContent).toBe("One. Two. Three.");
    vi.useRealTimers();
  });
});

describe("the time to the first token", () => {
  test("is told as an estimate once the text is seen to begin, whenever the panel was fetched", () => {
    let now = 5_000;
    let begun: number | undefined;
    const show = (): void => showFirstTokens((stream) => (stream === "a1" ? begun : undefined), () => now);
    parse('<i data-first-token="a1" data-gone="300">–</i><b data-first-token="a2" data-gone="0">–</b>');
    show();
    expect(at("i").textContent).toBe("–");

    begun = now += 310;
    show();
    expect(at("i").textContent).toBe("≈ 0.61 s");

    now += 4_000;
    parse('<i data-first-token="a1" data-gone="4610">–</i>'); // fetched again while it is written
    show();
    expect(at("i").textContent).toBe("≈ 0.61 s");
  });
});

describe("the clock", () => {
  afterEach(() => void vi.useRealTimers());

  test("ticks on from what the server wrote, and never steps back", () => {
    vi.useFakeTimers();
    let now = 1_000;
    const clock = new Clock(() => now);
    parse('<b data-elapsed="14.2">14.2 s</b>');
    clock.find();
    now += 3_000;
    vi.advanceTimersByTime(3_000);
    expect(at("b").textContent).toBe("17.2 s");

    parse('<b data-elapsed="16.9">16.9 s</b>'); // fetched again; the answer took 0.3 s
    clock.find();
    expect(at("b").textContent).toBe("17.2 s");

    clock.stop();
    now += 60_000;
    vi.advanceTimersByTime(60_000);
    expect(at("b").textContent).toBe("17.2 s");
  });
});

test("the foot says how the line is", () => {
  expect(describeLine("live", 1284)).toBe("live, event 1,284");
  expect(describeLine("reconnecting", 1284)).toBe("reconnecting, will resume at 1,284");
  expect(describeLine("ended", 12)).toBe("ended at event 12");
});

test("j and k stay within the list, and enter it from either end", () => {
  const keys = ["s1", "s2", "s3"];
  expect([stepAfter(keys, "s1", 1), stepAfter(keys, "s3", 1), stepAfter(keys, "s1", -1)]).toEqual(["s2", "s3", "s1"]);
  expect([stepAfter(keys, null, 1), stepAfter(keys, null, -1), stepAfter(keys, "gone", 1)]).toEqual(["s1", "s3", "s1"]);
  expect(stepAfter([], null, 1)).toBeNull();
});

describe("the address of a page", () => {
  const RUN = "http://studio/runs/k3f9/";
  test("selects a step, an edge, or nothing", () => {
    expect(selectionIn(`${RUN}?step=s2&tab=prompt`)).toEqual({ step: "s2", edge: null });
    expect(selectionIn(`${RUN}?edge=s1:s4`)).toEqual({ step: "s4", edge: { source: "s1", reader: "s4" } });
    expect(selectionIn(`${RUN}?edge=s1`)).toEqual({ step: null, edge: null });
    expect(selectionIn(RUN)).toEqual({ step: null, edge: null });
  });

  test("keeps the view and the tab when another step is selected", () => {
    const address = withSelection(`${RUN}?view=events&step=s1&tab=prompt`, { step: "s2", edge: null });
    expect(address).toBe(`${RUN}?view=events&step=s2&tab=prompt`);
  });

  test("names an edge instead of a step", () => {
    const address = withSelection(`${RUN}?step=s1&tab=prompt`, { step: "s4", edge: { source: "s1", reader: "s4" } });
    expect(address).toBe(`${RUN}?edge=s1:s4`);
    expect(withSelection(address, { step: null, edge: null })).toBe(RUN);
  });

  test("of a panel names the tab, and in the context the source", () => {
    expect(stepPath("k3f9", "s2", null, "s1")).toBe("/runs/k3f9/steps/s2/");
    expect(stepPath("k3f9", "s2", "prompt", "s1")).toBe("/runs/k3f9/steps/s2/?tab=prompt");
    expect(stepPath("k3f9", "s2", "context", "s1")).toBe("/runs/k3f9/steps/s2/?tab=context&source=s1");
  });
});

describe("a click on the link to a step", () => {
  const chosen: (string | null)[] = [];
  selectByClick((step) => chosen.push(step));
  const click = (selector: string, init: object = {}): boolean =>
    at(selector).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init }));

  beforeEach(() => {
    chosen.length = 0;
    parse(`<ol><li><a id="one" href="?step=s1" data-step="s1"><b id="in">1</b></a></li></ol>
      <div data-step="s2" id="two"><a id="else" href="/elsewhere/">elsewhere</a><a id="same" href="?step=s2">2</a></div>
      <a id="none" href="/runs/k3f9/" data-step="">close</a>`);
  });

  test("selects it here, wherever in the link", () => {
    click("#one");
    click("#in");
    click("#same");
    expect(chosen).toEqual(["s1", "s1", "s2"]);
  });
  test("stays a link with a modifier", () => {
    expect(click("#one", { ctrlKey: true })).toBe(true);
    expect(chosen).toEqual([]);
  });
  test("leaves other links alone", () => {
    click("#else");
    expect(chosen).toEqual([]);
  });
  test("that names none selects nothing", () => {
    click("#none");
    expect(chosen).toEqual([null]);
  });
});

describe("what is said of rounds, nested runs and votes", () => {
  const after = (trail: Trail): string[] => {
    const state = replay(trail.events);
    return sentences(trail.events.slice(-1), state);
  };
  const first = (): Trail => new Trail().submitted({ rounds: 2 }).planned(1, 1, null).adopted({ s1: [], s2: ["s1"] });

  test("a later round is planned, and keeps or changes what there is", () => {
    expect(after(first().planned(2, 2))).toEqual(["What comes next is being planned."]);
    expect(after(first().planned(2, 2, "kept"))).toEqual(["Round 2 keeps the workflow as it is."]);
    expect(after(first().planned(2, 2, "changed").extended({ s3: [], s4: ["s3"] }))).toEqual([
      "Round 2 changes the workflow: 2 more steps, 4 in all.",
    ]);
  });

  test("a turn is one more step", () => {
    const trail = new Trail().submitted({ planner: "trinity" }).adopted({ s1: [] }).extended({ s2: ["s1"] }, 2);
    expect(after(trail)).toEqual(["The workflow goes on: 1 more step, 2 in all."]);
  });

  test("a step becomes a run of its own, whose events are told as within it", () => {
    const trail = first().started("s2", 5, 1, { nested: "k9" });
    expect(after(trail)).toEqual(["Step 2, Do s2, becomes a run of its own."]);
    const inner = new Trail().submitted().adopted({ s1: [] }).started("s1", 7);
    expect(within("s2/s4", after(inner), replay(trail.events))).toEqual(["Within step 2: Step 1, Do s1, is running."]);
  });

  test("another planner stands in, and what else people must know", () => {
    expect(after(new Trail().submitted().add("planning.fellback", { from: "conductor", to: "direct" }))).toEqual([
      "Another planner stands in.",
    ]);
    expect(after(first().add("run.noticed", {}, { reason: "Round 2 was not planned." }))).toEqual(["Round 2 was not planned."]);
  });

  test("a vote says that it will be one, how it came out, and that it was a tie", () => {
    const sink = { kind: "vote", over: ["s1", "s2"] };
    const adopted = new Trail().submitted().add("workflow.adopted", { by: "planner", warnings: [], steps: [], sink });
    expect(after(adopted)).toEqual(["The plan has 0 steps. A vote over 2 steps gives the answer."]);
    const voted = (detail: object): string[] => after(first().extended({}, 1, sink).answered("s1", "vote", detail));
    expect(voted({ counts: { a: ["s1", "s2"], b: ["s3"] }, tie: false })).toEqual(["The answer is there. 2 of 3 say so."]);
    expect(voted({ counts: { a: ["s1"], b: ["s2"] }, tie: true })).toEqual([
      "The answer is there. The vote was a tie: the first said was taken.",
    ]);
  });
});

describe("what is said of doors and limits", () => {
  const waits = { step: "s1", worker: "atlas", why: "place", ahead: 3, until: null, words: "waiting for a place at Atlas (3 ahead)" };
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [] });
  const last = (trail: Trail): string[] => {
    const before = replay(trail.events.slice(0, -1));
    return sentences(trail.events.slice(-1), replay(trail.events), before);
  };

  test("a step that waits is told once, however the line moves", () => {
    const trail = begun().add("step.waiting", waits);
    expect(last(trail)).toEqual(["Step 1, Do s1, is waiting for a place at Atlas (3 ahead)."]);
    expect(last(trail.add("step.waiting", { ...waits, ahead: 2 }))).toEqual([]);
  });

  test("a planner that waits, likewise", () => {
    const told = { conductor: "sim", why: "rate", ahead: 0, until: null, words: "waiting: Sim takes only so many" };
    const trail = new Trail().submitted().add("planning.waiting", told);
    expect(last(trail)).toEqual(["The planner is waiting: Sim takes only so many."]);
    expect(last(trail.add("planning.waiting", told))).toEqual([]);
  });

  test("who stands in, a limit, and going on", () => {
    const away = { step: "s1", from: "atlas", to: "cedar", kind: "server" };
    expect(last(begun().add("step.fellback", away))).toEqual(["Step 1, Do s1, goes to another worker."]);
    expect(last(begun().add("run.held", { reason: "limit", step: "s1" }))).toEqual(["The run is held at a limit of money."]);
    expect(last(begun().add("run.held", { reason: "review" }))).toEqual(["The run waits for approval."]);
    expect(last(begun().add("run.resumed", { limit_usd: "1" }))).toEqual(["The run goes on."]);
  });

  test("vectors that did not come, and not those that did", () => {
    const bill = { worker: "embed", input_tokens: 3, cost_usd: "0" };
    expect(last(begun().add("embedding.failed", bill))).toEqual(["An embedding worker failed."]);
    expect(last(begun().add("embedding.done", bill))).toEqual([]);
  });
});

test("a wait makes the outline stale, and the panel of its step", () => {
  const trail = new Trail().submitted().adopted({ s1: [], s2: [] });
  const before = replay(trail.events);
  const told = { worker: "atlas", why: "place", ahead: 1, until: null, words: "waiting" };
  const news = trail.add("step.waiting", { step: "s1", ...told }).events.slice(-1);
  const parts = (selected: string): string[] => [...staleParts(news, before, replay(news, before), selected)].sort();
  expect(parts("s1")).toEqual(["answer", "head", "outline", "panel"]);
  expect(parts("s2")).toEqual(["answer", "head", "outline"]);
});

test("what is planned next makes outline and answer stale, too", () => {
  const trail = new Trail().submitted({ rounds: 2 }).planned(1, 1, null).adopted({ s1: [] });
  const before = replay(trail.events);
  const planned = trail.planned(2, 2).events.slice(-1);
  expect([...staleParts(planned, before, replay(planned, before), "s1")].sort()).toEqual(["answer", "head", "outline"]);
});

test("the panel of a nested step is fetched by its way, and a piece by its own key", () => {
  expect(stepPath("k1", "s2/s1", "context", "s2/s3")).toBe("/runs/k1/steps/s2/s1/?tab=context&source=s3");
});

test("a nested step is selected by its way", () => {
  const selection = { step: "s2/s1", edge: { source: "s2/s3", reader: "s2/s1" } };
  expect(selectionIn("http://x/runs/k/?edge=s2/s3:s2/s1")).toEqual(selection);
  expect(withSelection("http://x/runs/k/?tab=prompt", { step: "s2/s1", edge: null })).toBe("http://x/runs/k/?tab=prompt&step=s2/s1");
  expect(withSelection("http://x/runs/k/", selection)).toBe("http://x/runs/k/?edge=s2/s3:s2/s1");
});

describe("what is said of a run that somebody looks into", () => {
  const begun = (): Trail => new Trail().submitted().adopted({ s1: [], s2: ["s1"] });
  const last = (trail: Trail): string[] => sentences(trail.events.slice(-1), replay(trail.events));

  test("that it is being paused, and where it rests", () => {
    expect(last(begun().add("run.pausing"))).toEqual(["The run is being paused: what is under way ends."]);
    expect(last(begun().add("run.held", { reason: "pause", step: "s2" }))).toEqual(["The run is paused."]);
    const broken = { reason: "pause", step: "s2", breakpoint: "s2" };
    expect(last(begun().add("run.held", broken))).toEqual(["The run is paused before step 2."]);
    expect(last(begun().add("run.held", { reason: "review" }))).toEqual(["The run waits for approval."]);
  });

  test("which breakpoints there are, also that there are none", () => {
    expect(last(begun().add("run.breakpoints", { steps: ["s1", "s2"] }))).toEqual(["The run pauses before step 1 and 2."]);
    expect(last(begun().add("run.breakpoints", { steps: [] }))).toEqual(["The run pauses before no step."]);
  });

  test("who wrote a result, that a plan was edited, and that one was rejected", () => {
    const written = begun().add("step.written", { step: "s1", attempt: 3, was: "succeeded" }, { result: "x" });
    expect(last(written)).toEqual(["Step 1, Do s1, has a result written by driver 1."]);
    expect(last(begun().adopted({ s1: [] }, "review"))).toEqual(["The plan was edited: it has 1 step."]);
    expect(last(begun().add("run.rejected", {}, { reason: "no" }))).toEqual(["The plan was rejected."]);
  });
});

describe("the panel of a step", () => {
  test("b presses its breakpoint, but not while somebody types", () => {
    parse('<div id="panel"><button data-break>Breakpoint</button></div><input id="field">');
    const pressed = vi.fn();
    at("[data-break]").addEventListener("click", pressed);
    breakByKey();
    at("#field").dispatchEvent(new KeyboardEvent("keydown", { key: "b", bubbles: true }));
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "b", ctrlKey: true, bubbles: true }));
    expect(pressed).not.toHaveBeenCalled();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "b", bubbles: true }));
    expect(pressed).toHaveBeenCalledOnce();
  });

  test("is not taken from under the hands of who writes in it", () => {
    const ajax = vi.fn(() => Promise.resolve());
    vi.stubGlobal("htmx", { ajax, trigger: vi.fn() });
    parse('<div id="panel"><textarea id="text">South</textarea></div>');
    const panel = new Panel("k7");
    (at("#text") as HTMLTextAreaElement).value = "North";
    panel.refresh("s1");
    expect(ajax).not.toHaveBeenCalled();
    panel.show("s2");
    expect(ajax).toHaveBeenCalledOnce();
    vi.unstubAllGlobals();
  });
});
