// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { graphOf, readMerged, type Merged } from "../src/compare/merged";
import { differences, goByKeys, nextOf, show } from "../src/compare/steps";

const step = (number: number, difference: Merged["steps"][number]["difference"]) => ({
  key: `pair:${number}`,
  anchor: `pair-${number}`,
  url: `/compare/?only=${number}`,
  number,
  title: `Do ${number}`,
  role: "",
  difference,
  state: "succeeded" as const,
  worker: "atlas",
  label: difference,
  text: "",
});
const MERGED: Merged = {
  steps: [step(1, "same"), step(2, "only-b"), step(3, "changed")],
  edges: [
    { source: "pair:1", reader: "pair:3", difference: "same", carried: true },
    { source: "pair:1", reader: "pair:2", difference: "only-b", carried: false },
  ],
};

describe("two runs as one graph", () => {
  const graph = graphOf(MERGED, {});
  test("hold every step with what it is beside the other run, in words too", () => {
    expect(graph.cards.map(({ key, difference, meta }) => [key, difference, meta])).toEqual([
      ["pair:1", "same", "same"],
      ["pair:2", "only-b", "only-b"],
      ["pair:3", "changed", "changed"],
    ]);
  });
  test("let a step read what it reads in either run", () => {
    expect(graph.cards.map(({ access }) => access)).toEqual([[], ["pair:1"], ["pair:1"]]);
    expect(graph.edges.map(({ difference, tokens }) => [difference, tokens])).toEqual([
      ["same", 0],
      ["only-b", null],
    ]);
  });
  test("are empty on a page without them", () => {
    document.body.innerHTML = "";
    expect(readMerged()).toEqual({ steps: [], edges: [] });
  });
});

describe("from difference to difference", () => {
  const pair = (number: number, difference: string): string =>
    `<details id="pair-${number}" data-difference="${difference}"><summary>Step</summary><span data-difference="changed"></span></details>`;
  const shown: string[] = [];
  const press = (key: string, on: EventTarget = document.body): void => {
    on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  };

  beforeEach(() => {
    shown.length = 0;
    document.body.innerHTML = `<main>${pair(1, "same")}${pair(2, "changed")}${pair(3, "only-a")}<input id="q"></main>`;
  });
  afterEach(() => {
    document.body.innerHTML = "";
  });
  goByKeys((row) => shown.push(row.id));

  test("only what differs and can be led to is one", () => {
    expect(differences().map(({ id }) => id)).toEqual(["pair-2", "pair-3"]);
  });
  test("n and p go on from where one is, and stop at the ends", () => {
    document.querySelector<HTMLElement>("#pair-2 summary")!.focus();
    for (const key of ["n", "n", "p", "p"]) press(key);
    expect(shown).toEqual(["pair-3", "pair-2"]);
    expect(document.activeElement).toBe(document.querySelector("#pair-2 summary"));
    expect(document.querySelector<HTMLDetailsElement>("#pair-3")!.open).toBe(true);
    expect(location.hash).toBe("#pair-2");
  });
  test("whoever is typing is left alone", () => {
    press("n", document.getElementById("q")!);
    expect(shown).toEqual([]);
  });
  test("from elsewhere the next is the first below", () => {
    const [first, second] = differences() as [HTMLElement, HTMLElement];
    first.getBoundingClientRect = () => ({ top: -50 }) as DOMRect;
    second.getBoundingClientRect = () => ({ top: 50 }) as DOMRect;
    expect(nextOf([first, second], null, 1)).toBe(second);
    expect(nextOf([first, second], null, -1)).toBe(first);
    expect(nextOf([], null, 1)).toBeNull();
  });
  test("what is shown is open, has the focus and is in the address", () => {
    const row = document.getElementById("pair-1") as HTMLDetailsElement;
    show(row);
    expect([row.open, document.activeElement?.tagName, location.hash]).toEqual([true, "SUMMARY", "#pair-1"]);
  });
});
