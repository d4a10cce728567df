// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";
import { gridKeys } from "../src/page/grid";
import { aimTabs, keepingView, keepView, markEdge, selectEdgeByClick, toView } from "../src/page/views";

const PAGE = "http://studio/runs/abc/";

describe("the way to another view", () => {
  it("keeps what is selected", () => {
    expect(toView(`${PAGE}?step=s2/s1&tab=context`, "matrix")).toBe(`${PAGE}?step=s2/s1&tab=context&view=matrix`);
    expect(toView(`${PAGE}?view=matrix&edge=s1:s2`, "graph")).toBe(`${PAGE}?edge=s1:s2`);
  });

  it("takes an earlier moment along only to where it is shown", () => {
    expect(toView(`${PAGE}?at=5`, "events")).toBe(`${PAGE}?at=5&view=events`);
    expect(toView(`${PAGE}?at=5`, "timeline")).toBe(`${PAGE}?view=timeline`);
  });

  it("leaves behind what only the view before it knows", () => {
    expect(toView(`${PAGE}?view=timeline&idle=cut&after=9`, "events")).toBe(`${PAGE}?view=events`);
  });

  it("is aimed anew when something else is selected", () => {
    document.body.innerHTML = '<a data-view="graph" href="/"></a><a data-view="matrix" href="/"></a>';
    history.replaceState(null, "", "?view=timeline&step=s3");
    aimTabs();
    expect(Array.from(document.querySelectorAll("a"), (tab) => new URL(tab.href).search)).toEqual(["?step=s3", "?step=s3&view=matrix"]);
  });
});

describe("what htmx writes into the address", () => {
  it("leaves the view in it", () => {
    expect(keepingView("/runs/abc/?step=s2&tab=prompt", `${PAGE}?view=matrix&step=s1`)).toBe(`${PAGE}?step=s2&tab=prompt&view=matrix`);
    expect(keepingView("/runs/abc/?step=s2", `${PAGE}?at=5`)).toBe(`${PAGE}?step=s2&at=5`);
    expect(keepingView("/runs/abc/?view=events", `${PAGE}?view=matrix`)).toBe(`${PAGE}?view=events`);
  });

  it("is let alone where it is another page", () => {
    expect(keepingView("/runs/other/?step=s2", `${PAGE}?view=matrix`)).toBe("/runs/other/?step=s2");
  });

  it("is changed before it is written", () => {
    history.replaceState(null, "", "?view=matrix");
    keepView();
    const written = { path: `${location.pathname}?step=s2` };
    document.body.dispatchEvent(new CustomEvent("htmx:beforeHistoryUpdate", { bubbles: true, detail: { history: written } }));
    expect(new URL(written.path, location.href).search).toBe("?step=s2&view=matrix");
  });
});

describe("an edge in the page", () => {
  it("is chosen by a plain click and marked", () => {
    document.body.innerHTML = '<a data-edge="s1:s2" href="#a">12</a><a data-edge="s1:s3" href="#b">7</a>';
    const chosen: string[] = [];
    selectEdgeByClick(({ source, reader }) => chosen.push(`${source} to ${reader}`));
    const [first, second] = Array.from(document.querySelectorAll("a"));
    first?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    second?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));
    expect(chosen).toEqual(["s1 to s2"]);
    markEdge({ source: "s1", reader: "s3" });
    expect(Array.from(document.querySelectorAll("[aria-current]"), (each) => each.textContent)).toEqual(["7"]);
    markEdge(null);
    expect(document.querySelector("[aria-current]")).toBeNull();
  });
});

describe("a table as one stop for the keyboard", () => {
  const row = (number: number, cells: string): string =>
    `<tr><th><a id="m${number}" href="#s${number}" data-step="s${number}">${number}</a></th>${cells}<td class="rest"></td></tr>`;
  const focused = (): string => document.activeElement?.id ?? "";
  const press = (key: string): boolean =>
    !document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const stops = (): string[] =>
    Array.from(document.querySelectorAll<HTMLElement>("a, td[id]"))
      .filter((each) => each.tabIndex === 0)
      .map(({ id }) => id);
  let settle: () => void;

  beforeEach(() => {
    document.body.innerHTML = `<table data-grid><thead><tr><th></th></tr></thead><tbody>${row(1, "")}${row(2, '<td data-cell="given"><a id="m2-1" href="#e" data-edge="s1:s2">9</a></td>')}${row(3, '<td data-cell="never" id="m3-1"></td><td data-cell="may"><a id="m3-2" href="#f" data-edge="s2:s3"></a></td>')}</tbody></table>`;
    settle ??= gridKeys();
    settle();
  });

  it("begins at its first row", () => {
    expect(stops()).toEqual(["m1"]);
  });

  it("leads from cell to cell with the arrows, and not out of the table", () => {
    document.getElementById("m1")?.focus();
    const way = ["ArrowUp", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "End", "Home", "ArrowDown"];
    expect(way.map((key) => (press(key), focused()))).toEqual(["m1", "m2", "m2-1", "m2-1", "m3-1", "m3-2", "m3-1", "m3", "m3", "m3-2", "m3", "m3"]);
    expect(stops()).toEqual(["m3"]);
  });

  it("stays where it was when its part of the page is fetched anew", () => {
    document.getElementById("m3-2")?.focus();
    const before = document.body.innerHTML;
    document.body.innerHTML = before.replaceAll(' tabindex="-1"', "").replaceAll(' tabindex="0"', "");
    settle();
    expect(stops()).toEqual(["m3-2"]);
  });

  it("follows a link by a space too, and from a cell that is never read that of its row", () => {
    const clicked: string[] = [];
    document.addEventListener("click", (event) => clicked.push((event.target as HTMLElement).id));
    document.getElementById("m3-2")?.focus();
    expect(press(" ")).toBe(true);
    document.getElementById("m3-1")?.focus();
    expect(press("Enter")).toBe(true);
    document.getElementById("m2-1")?.focus();
    expect(press("Enter")).toBe(false); // the browser follows it itself
    expect(clicked).toEqual(["m3-2", "m3"]);
  });
});
