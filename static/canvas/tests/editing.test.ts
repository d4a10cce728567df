// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Document } from "../src/edit/document";
import { EditForm } from "../src/edit/form";
import { History } from "../src/edit/history";
import { onEditKeys } from "../src/edit/keys";
import { Matrix, type Cell } from "../src/edit/matrix";
import { showViews, viewIn, type View } from "../src/edit/views";
import { askNothingWhenLeaving } from "../src/page/htmx";
import { Store } from "../src/store";

const step = (key: string, access: string[] = []) => ({ key, instruction: `Do ${key}`, worker: "atlas", access, role: "", round: 1 });
const DOCUMENT: Document = {
  workflow: { steps: [step("s1"), step("s4", ["s1"]), step("s2", ["s4"])], sink: { kind: "last" } },
  problems: [],
  pool: ["atlas"],
};
const press = (key: string, target: Element = document.body, more: KeyboardEventInit = {}): boolean =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));

describe("the history of a form", () => {
  test("goes back and forth between what the form said", () => {
    const past = new History("a");
    past.note("b");
    past.note("c");
    expect([past.undo(), past.undo(), past.undo()]).toEqual(["b", "a", null]);
    expect([past.redo(), past.redo(), past.redo()]).toEqual(["b", "c", null]);
  });
  test("forgets what was undone once something else is done", () => {
    const past = new History("a");
    past.note("b");
    past.undo();
    past.note("c");
    expect([past.canUndo, past.canRedo]).toEqual([true, false]);
    expect(past.undo()).toBe("a");
  });
  test("does not take the same state, or the server's spelling of it, for a change", () => {
    const past = new History("a");
    past.note("a");
    expect(past.canUndo).toBe(false);
    past.note("b");
    past.undo();
    past.settle("A");
    expect([past.canUndo, past.canRedo, past.redo()]).toEqual([false, true, "b"]);
  });
  test("keeps a bounded number of states", () => {
    const past = new History("0");
    for (let number = 1; number <= 500; number += 1) past.note(`${number}`);
    let steps = 0;
    while (past.undo() !== null) steps += 1;
    expect(steps).toBe(200);
  });
});

describe("the matrix", () => {
  const told: [Cell, boolean][] = [];
  const chosen: string[] = [];
  let matrix: Matrix;
  const boxes = (): HTMLInputElement[] => [...document.querySelectorAll<HTMLInputElement>("#matrix input")];
  const focused = (): string => (document.activeElement as HTMLElement).ariaLabel ?? "";

  beforeEach(() => {
    told.length = 0;
    chosen.length = 0;
    document.body.innerHTML = `<div id="matrix"></div>`;
    matrix = new Matrix(
      document.getElementById("matrix") as HTMLElement,
      (cell, allowed) => void told.push([cell, allowed]),
      (key) => void chosen.push(key),
    );
    matrix.show(DOCUMENT);
  });

  test("is a triangle: no step is offered a later one, or itself", () => {
    expect(boxes().map((box) => [box.dataset.reader, box.dataset.source, box.checked])).toEqual([
      ["s4", "s1", true],
      ["s2", "s1", false],
      ["s2", "s4", true],
    ]);
    expect(boxes().map((box) => box.ariaLabel)[1]).toBe("Step 3 may read step 1");
  });
  test("is one stop of the Tab key, and arrow keys move within it", () => {
    expect(boxes().filter((box) => box.tabIndex === 0)).toHaveLength(1);
    matrix.focus();
    expect(focused()).toBe("Step 2 may read step 1");
    for (const [key, at] of [["ArrowDown", "Step 3 may read step 1"], ["ArrowRight", "Step 3 may read step 2"], ["ArrowRight", "Step 3 may read step 2"], ["ArrowUp", "Step 2 may read step 1"]] as const) {
      press(key, document.activeElement as Element);
      expect(focused()).toBe(at);
    }
    expect(boxes().filter((box) => box.tabIndex === 0)).toHaveLength(1);
    expect(chosen.at(-1)).toBe("s4");
  });
  test("tells what was ticked", () => {
    const box = boxes()[1] as HTMLInputElement;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    expect(told).toEqual([[{ reader: "s2", source: "s1" }, true]]);
  });
  test("follows the form without taking the focus away", () => {
    matrix.focus();
    const before = document.activeElement;
    const [first, second, third] = DOCUMENT.workflow.steps as [never, never, (typeof DOCUMENT.workflow.steps)[0]];
    const steps = [first, second, { ...third, access: ["s1"] }];
    matrix.show({ ...DOCUMENT, workflow: { ...DOCUMENT.workflow, steps } });
    expect(boxes().map((box) => box.checked)).toEqual([true, true, false]);
    expect(document.activeElement).toBe(before);
  });
  test("keeps the focus at the same read when steps come and go", () => {
    matrix.focus();
    press("ArrowDown", document.activeElement as Element);
    matrix.show({ ...DOCUMENT, workflow: { ...DOCUMENT.workflow, steps: [step("s9"), ...DOCUMENT.workflow.steps] } });
    expect(focused()).toBe("Step 4 may read step 2");
  });
  test("says so where there is nothing to read", () => {
    matrix.show({ ...DOCUMENT, workflow: { ...DOCUMENT.workflow, steps: [step("s1")] } });
    expect(document.getElementById("matrix")?.textContent).toBe("With a second step there is something to read.");
  });
});

describe("keys", () => {
  const did: string[] = [];
  const say = (what: string) => (): void => void did.push(what);
  onEditKeys({
    add: say("add"),
    duplicate: say("duplicate"),
    remove: say("remove"),
    move: (by) => void did.push(`move ${by}`),
    write: (field) => void did.push(`write ${field}`),
    turn: say("turn"),
    undo: say("undo"),
    redo: say("redo"),
  });
  beforeEach(() => {
    did.length = 0;
    document.body.innerHTML = `<input type="checkbox"><textarea></textarea><select></select><dialog><button></button></dialog>`;
  });

  test("do what the legend says", () => {
    for (const key of ["a", "d", "Delete", "[", "]", "i", "w", "m"]) press(key);
    press("z", document.body, { ctrlKey: true });
    press("Z", document.body, { ctrlKey: true, shiftKey: true });
    press("y", document.body, { metaKey: true });
    expect(did).toEqual(["add", "duplicate", "remove", "move -1", "move 1", "write instruction", "write worker", "turn", "undo", "redo", "redo"]);
  });
  test("are text where text is written, and answers where something is asked", () => {
    for (const selector of ["textarea", "select", "dialog button"]) press("d", document.querySelector(selector) as Element);
    press("z", document.querySelector("textarea") as Element, { ctrlKey: true });
    expect(did).toEqual([]);
    press("d", document.querySelector("input") as Element);
    expect(did).toEqual(["duplicate"]);
  });
  test("with other modifiers are the browser's", () => {
    press("a", document.body, { ctrlKey: true });
    press("d", document.body, { altKey: true });
    expect(did).toEqual([]);
  });
});

describe("the views", () => {
  test("are kept in the address", () => {
    document.body.innerHTML = `<button data-view="graph"></button><button data-view="matrix"></button><p id="g"></p><p id="m"></p>`;
    const [graph, matrix] = ["g", "m"].map((id) => document.getElementById(id) as HTMLElement) as [HTMLElement, HTMLElement];
    const view = new Store<View>("graph");
    showViews(view, { graph, matrix });
    expect([graph.hidden, matrix.hidden]).toEqual([false, true]);
    document.querySelector<HTMLElement>('[data-view="matrix"]')?.click();
    expect([graph.hidden, matrix.hidden, viewIn(location.href)]).toEqual([true, false, "matrix"]);
    view.set("graph");
    expect(viewIn(location.href)).toBe("graph");
  });
});

describe("what the form says", () => {
  const sent: [string, FormData][] = [];
  beforeEach(() => {
    sent.length = 0;
    document.body.innerHTML = `<form id="edit" action="/here"><button name="action" value="check"></button><input type="hidden" name="edit"><input type="hidden" name="version" value="3">
      <input type="hidden" name="seen" value="x"><textarea name="step-s1-instruction">Do\nit</textarea>
      <input type="checkbox" id="s2-reads-s1" name="step-s2-access" value="s1" checked><input type="checkbox" name="step-s1-fresh" value="1"></form>`;
    window.htmx = { trigger: () => undefined, ajax: (_, path, { values }) => (sent.push([path, values as FormData]), Promise.resolve()) };
  });
  afterEach(() => delete window.htmx);

  test("is what a person wrote, without what the page carries along", () => {
    expect([...new URLSearchParams(new EditForm().state())]).toEqual([
      ["step-s1-instruction", "Do\nit"],
      ["step-s2-access", "s1"],
    ]);
  });
  test("is posted again as it was, with what the page knows by now", async () => {
    const form = new EditForm();
    const state = form.state();
    (document.querySelector("textarea") as HTMLTextAreaElement).value = "Do something else";
    (document.querySelector("[name=step-s1-fresh]") as HTMLInputElement).checked = true;
    const then = vi.fn();
    form.restore(state, then);
    await Promise.resolve();
    const [path, values] = sent[0] as [string, FormData];
    expect(path).toBe("/here"); // and not the button of that name
    expect([...values].filter(([name]) => name.startsWith("step-"))).toEqual([
      ["step-s1-instruction", "Do\nit"],
      ["step-s2-access", "s1"],
    ]);
    expect([values.get("version"), values.get("restored")]).toEqual(["3", "1"]);
    await Promise.resolve();
    expect(then).toHaveBeenCalledWith(true);
  });
  test("is ticked from elsewhere as by hand", () => {
    const heard = vi.fn();
    document.getElementById("edit")?.addEventListener("change", heard);
    expect(new EditForm().tick("s2", "s1", false)).toBe(true);
    expect((document.getElementById("s2-reads-s1") as HTMLInputElement).checked).toBe(false);
    expect(heard).toHaveBeenCalledOnce();
    expect(new EditForm().tick("s9", "s1", true)).toBe(false);
  });
});

describe("a page that is being left", () => {
  const asked = (): boolean => document.body.dispatchEvent(new CustomEvent("htmx:beforeRequest", { bubbles: true, cancelable: true }));
  const answered = (to: string | null): void => {
    const detail = { xhr: { getResponseHeader: () => to } };
    document.body.dispatchEvent(new CustomEvent("htmx:beforeOnLoad", { bubbles: true, detail }));
  };
  test("asks for nothing more once a form or an answer has led away", () => {
    document.body.innerHTML = `<form id="edit"></form><div id="said"><form id="over"></form></div>`;
    askNothingWhenLeaving((form) => form.closest("#said") !== null);
    const submit = (id: string): void => void document.getElementById(id)?.dispatchEvent(new Event("submit", { bubbles: true }));
    submit("edit");
    answered(null);
    expect(asked()).toBe(true);
    submit("over");
    expect(asked()).toBe(false);
    dispatchEvent(new Event("pageshow"));
    expect(asked()).toBe(true);
    answered("/runs/a/");
    expect(asked()).toBe(false);
  });
});
