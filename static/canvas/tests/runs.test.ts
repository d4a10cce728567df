// @vitest-environment happy-dom
import { beforeEach, describe, expect, test, vi } from "vitest";
import { actionsOf, fitting } from "../src/palette/actions";
import { Choices } from "../src/palette/choices";
import { made } from "../src/palette/made";
import { offersAt, taken, type Offered } from "../src/runs/completing";
import { rowAfter } from "../src/runs/cursor";
import { tellNews } from "../src/runs/news";
import { Picks, saidOf } from "../src/runs/picks";
import { isBusy, startPalette } from "../src/studio/palette";
import { PLACES, SHORTCUTS } from "../src/studio/shortcuts";

const OFFERED: Offered = {
  fields: [
    { name: "status", kind: "text", hint: "how it stands" },
    { name: "steps", kind: "number", hint: "how many" },
    { name: "worker", kind: "text", hint: "who" },
  ],
  values: { status: [["failed", "no answer"], ["held", "waits"]], worker: [["qwen", "Qwen 3"], ["gpt 5", "GPT"]] },
};
const labels = (text: string): string[] => offersAt(text, text.length, OFFERED).map(({ label }) => label);

describe("a filter is completed", () => {
  test("with fields while a name is written, and with nothing before that", () => {
    expect(labels("st")).toEqual(["status", "steps"]);
    expect(labels("tariff -wor")).toEqual(["worker"]);
    expect(labels("")).toEqual([]);
    expect(labels("tariff ")).toEqual([]);
  });

  test("with the values that are known, by a part of them or of what they mean", () => {
    expect(labels("status:")).toEqual(["failed", "held"]);
    expect(labels("worker:q")).toEqual(["qwen"]);
    expect(labels("status:no")).toEqual(["failed"]);
    expect(labels("status:failed")).toEqual([]);
    expect(labels("cost>")).toEqual([]);
  });

  test("not within quotation marks", () => {
    expect(labels('"st')).toEqual([]);
    expect(labels('worker:"gp')).toEqual([]);
  });

  test("where one is, and what stands behind it stays", () => {
    const text = "x sta tariff";
    const [offer] = offersAt(text, 5, OFFERED);
    expect(taken(text, 5, offer!)).toEqual({ text: "x status: tariff", caret: 9 });
  });

  test("a value of several words is put in quotes, and one space follows", () => {
    const [offer] = offersAt("worker:5", 8, OFFERED);
    expect(taken("worker:5", 8, offer!).text).toBe('worker:"gpt 5" ');
    expect(taken("worker:5 tariff", 8, offer!).text).toBe('worker:"gpt 5" tariff');
  });
});

describe("the marked run", () => {
  const rows = ["a", "b", "c"].map((code) => made("tr", { "data-run": code }));
  const codeAfter = (at: string | null, by: 1 | -1): string | undefined => rowAfter(rows, at, by)?.dataset.run;

  test("moves by one and stays within the list", () => {
    expect([codeAfter("a", 1), codeAfter("c", 1), codeAfter("a", -1)]).toEqual(["b", "c", "a"]);
  });

  test("from nowhere, or from a run that went away, is the first or the last", () => {
    expect([codeAfter(null, 1), codeAfter("gone", -1), rowAfter([], null, 1)]).toEqual(["a", "c", null]);
  });
});

describe("runs that are picked", () => {
  const boxes = (...codes: string[]): string => codes.map((code) => `<input type="checkbox" name="pick" value="${code}" form="pair">`).join("");
  const bar = (): HTMLFormElement => document.querySelector("#pair") as HTMLFormElement;
  const box = (code: string): HTMLInputElement => document.querySelector(`#runs [value="${code}"]`) as HTMLInputElement;
  const tick = (code: string): void => box(code).click();

  beforeEach(() => {
    document.body.innerHTML = `<div id="runs">${boxes("a", "b", "c")}</div><form id="pair"><span id="picked"></span><button class="primary">Compare</button></form>`;
  });

  test("are two or cannot be compared", () => {
    new Picks();
    const submit = (): boolean => bar().dispatchEvent(new Event("submit", { cancelable: true }));
    tick("a");
    expect(submit()).toBe(false);
    tick("b");
    expect(submit()).toBe(true);
    expect(bar().querySelector("button")?.getAttribute("aria-disabled")).toBe("false");
    tick("c");
    expect(submit()).toBe(false);
    expect(bar().querySelector("#picked")?.textContent).toBe(saidOf(3));
  });

  test("stay picked when the list is fetched again, and go along where it does not show them", () => {
    const picks = new Picks();
    tick("a");
    tick("b");
    document.querySelector("#runs")!.innerHTML = boxes("b", "d");
    picks.settle();
    expect([box("b").checked, box("d").checked]).toEqual([true, false]);
    expect([...bar().querySelectorAll<HTMLInputElement>("[type=hidden]")].map((each) => each.value)).toEqual(["a"]);
  });
});

test("news and faults are said once", () => {
  document.body.innerHTML = '<input id="q"><div id="faults"></div><a data-news="2"><span>↑</span> 2 new</a><div id="told"></div>';
  const told = document.querySelector("#told")!;
  tellNews();
  expect(told.textContent).toBe("2 new runs");
  told.textContent = "";
  tellNews();
  expect(told.textContent).toBe("");
  document.querySelector("#faults")!.innerHTML = '<p class="error">What is this?</p>';
  tellNews();
  expect([told.textContent, document.querySelector("#q")!.getAttribute("aria-invalid")]).toEqual(["What is this? 2 new runs", "true"]);
});

describe("what can be done on a page", () => {
  beforeEach(() => {
    document.body.innerHTML = `<main><header class="run-head"><div class="actions">
      <a class="button" href="/edit/">Edit</a><button type="button" popovertarget="rerun">Re-run…</button>
      <div class="menu" id="rerun" popover><button name="mode"><b>Everything fresh</b><span>Calls all again.</span></button></div>
      <button popovertarget="more">⋯</button><div class="menu" id="more" popover><a href="/share/">Share…</a></div>
      <button popovertarget="how">How</button><p id="how" popover>So.</p>
      <button disabled>Approve</button><button aria-label="Stop this run">Stop</button></div></header>
      <nav class="tabs" aria-label="Views"><a href="?" aria-current="page">Graph</a><a href="?view=events">Events</a></nav>
      <table><tbody><tr><td><a data-palette="A row" href="/">x</a></td></tr></tbody></table>
      <details data-palette="Look closer"></details></main>`;
  });

  test("has the words of its buttons, menus and views, without what is off", () => {
    expect(actionsOf(document).map(({ label }) => label)).toEqual([
      "Edit",
      "Re-run: Everything fresh",
      "Share…",
      "How",
      "Stop this run",
      "Views: Events",
      "Look closer",
    ]);
  });

  test("is found by every word that is typed", () => {
    expect(fitting(actionsOf(document), "FRESH every").map(({ label }) => label)).toEqual(["Re-run: Everything fresh"]);
    expect(fitting(actionsOf(document), " ")).toHaveLength(7);
  });
});

test("the marked choice goes round the ends and is told to the field", () => {
  const field = made("input");
  const list = made("div", {}, ...["a", "b", "c"].map((id) => made("div", { role: "option", id })));
  const choices = new Choices(field, list);
  choices.move(-1);
  expect(choices.marked()?.id).toBe("c");
  choices.move(1);
  expect([choices.marked()?.id, field.getAttribute("aria-activedescendant")]).toEqual(["a", "a"]);
  choices.mark(null);
  expect([choices.marked(), field.hasAttribute("aria-activedescendant")]).toEqual([null, false]);
});

describe("keys", () => {
  const gone: string[] = [];
  const press = (key: string, target: EventTarget = document.body, init: KeyboardEventInit = {}): boolean =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...init }));
  startPalette((url) => void gone.push(url));

  beforeEach(() => {
    gone.length = 0;
    document.body.innerHTML = '<a data-palette-open href="/runs/"></a><input id="q"><input type="checkbox">';
  });

  test("g and a letter lead to a page, and the letter is nobody else's", () => {
    const heard = vi.fn();
    document.addEventListener("keydown", heard);
    press("g");
    press("w");
    press("w");
    document.removeEventListener("keydown", heard);
    expect(gone).toEqual(["/workers/"]);
    expect(heard).toHaveBeenCalledTimes(2);
  });

  test("are a text's while one is typed, and a dialog's while one is open", () => {
    press("g", document.querySelector("#q")!);
    press("r", document.querySelector("#q")!);
    expect(isBusy(document.querySelector("[type=checkbox]"))).toBe(false);
    document.body.append(made("dialog", { open: "" }));
    press("g");
    press("r");
    expect(gone).toEqual([]);
  });

  test("do nothing on a page without a palette, where nobody is signed in", () => {
    document.body.innerHTML = "";
    press("g");
    press("r");
    expect([gone, press("k", document.body, { ctrlKey: true })]).toEqual([[], true]);
  });

  test("that lead somewhere are all listed", () => {
    const listed = SHORTCUTS.flatMap(({ keys }) => keys.map((each) => each.keys));
    expect(listed).toEqual(expect.arrayContaining(Object.keys(PLACES).map((letter) => `g ${letter}`)));
  });
});
