// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { graphOf, heirOf, lossOf, ofTheWhole, readDocument, whyNot, type Document } from "../src/edit/document";
import { addAfter, drawn, moveBy } from "../src/edit/edits";
import { EditForm } from "../src/edit/form";

const step = (key: string, access: string[] = []) => ({ key, instruction: `Do ${key}`, worker: "atlas", access, role: "", round: 1 });
const DOCUMENT: Document = {
  workflow: { steps: [step("s1"), step("s4"), step("s2", ["s1", "s4"])], sink: { kind: "last" } },
  problems: [
    { code: "long", message: "Step 2 is too long.", step: "s4", edge: null, severity: "error" },
    { code: "edge", message: "Step 3 may not read step 1.", step: "s2", edge: ["s1", "s2"], severity: "error" },
    { code: "many", message: "At most 2 steps.", step: null, edge: null, severity: "error" },
  ],
  pool: ["birch", "atlas"],
  recorded: { s1: true },
};

describe("a read", () => {
  test("may be drawn from an earlier step to a later one", () => {
    expect(whyNot(DOCUMENT, "s4", "s1")).toBeNull();
  });
  test("cannot be drawn forward, and so no cycle can", () => {
    expect(whyNot(DOCUMENT, "s1", "s2")).toBe("Step 1 comes before step 3 and cannot read it: move it later first.");
  });
  test("cannot be drawn to the step itself, or twice", () => {
    expect(whyNot(DOCUMENT, "s1", "s1")).toBe("A step cannot read itself.");
    expect(whyNot(DOCUMENT, "s2", "s4")).toBe("Step 3 reads step 2 already.");
  });
});

describe("the graph of a document", () => {
  const { cards, edges } = graphOf(DOCUMENT, {});
  test("numbers steps by their place, whatever their keys", () => {
    expect(cards.map((card) => [card.key, card.position])).toEqual([["s1", 1], ["s4", 2], ["s2", 3]]);
  });
  test("shows problems where they are: on a step, or on an edge and its reader", () => {
    expect(cards.map((card) => card.problems.map((problem) => problem.message))).toEqual([
      [],
      ["Step 2 is too long."],
      ["Step 3 may not read step 1."],
    ]);
    expect(edges.map((edge) => edge.problem)).toEqual(["Step 3 may not read step 1.", null]);
    expect(ofTheWhole(DOCUMENT).map((problem) => problem.message)).toEqual(["At most 2 steps."]);
  });
  test("marks what would be reused", () => {
    expect(cards.map((card) => card.state)).toEqual(["reused", "edited", "edited"]);
  });
});

describe("a vote that is edited", () => {
  const voting: Document = { ...DOCUMENT, workflow: { ...DOCUMENT.workflow, sink: { kind: "vote", over: ["s1", "zz"] } } };
  test("is drawn over the steps it counts, and no others", () => {
    expect(graphOf(voting, {}).sink).toMatchObject({ kind: "vote", over: ["s1"], text: "What most of step 1 say" });
    expect(graphOf(DOCUMENT, {}).sink).toBeNull();
  });
  test("counts one more step when a line is drawn to it", () => {
    expect(drawn(voting, "sink:", "s4")).toEqual({ op: "sink", sink: { kind: "vote", over: ["s1", "s4"] } });
    expect(drawn(voting, "s2", "s4")).toEqual({ op: "allow", reader: "s2", source: "s4" });
    expect([whyNot(voting, "sink:", "s4"), whyNot(voting, "sink:", "s1")]).toEqual([null, "Step 1 is counted already."]);
  });
  test("is named among what a step that is removed takes along", () => {
    expect(lossOf(voting, "s1")).toBe("Step 3 reads it and loses what it says. The vote no longer counts it.");
  });
});

test("the steps of a later round are grouped, with their roles on their cards", () => {
  const later = { ...step("s5"), round: 2, role: "verifier" };
  const both = { ...DOCUMENT, workflow: { ...DOCUMENT.workflow, steps: [...DOCUMENT.workflow.steps, later] } };
  const { cards, rounds } = graphOf(both, {});
  expect(rounds.map(({ number, members }) => [number, members])).toEqual([[1, ["s1", "s4", "s2"]], [2, ["s5"]]]);
  expect(cards.at(-1)?.role).toBe("verifier");
});

describe("removing a step", () => {
  test("says who loses what it says", () => {
    expect(lossOf(DOCUMENT, "s1")).toBe("Step 3 reads it and loses what it says.");
    expect(lossOf(DOCUMENT, "s2")).toBeNull();
  });
  test("selects the next one, or the one before", () => {
    expect([heirOf(DOCUMENT, "s1"), heirOf(DOCUMENT, "s2")]).toEqual(["s4", "s4"]);
  });
});

describe("operations", () => {
  test("a new step comes after the selected one, with its worker", () => {
    expect(addAfter(DOCUMENT, "s1")).toEqual({ op: "add", after: "s1", instruction: "", worker: "atlas", access: [] });
    expect(addAfter(DOCUMENT, null)).toMatchObject({ after: "s2" });
    expect(addAfter({ ...DOCUMENT, workflow: { steps: [], sink: { kind: "last" } } }, null)).toMatchObject({ after: null, worker: "birch" });
  });
  test("a step moves by one place, and not off the end", () => {
    expect(moveBy(DOCUMENT, "s4", 1)).toEqual({ op: "move", key: "s4", to: 2 });
    expect(moveBy(DOCUMENT, "s1", -1)).toBeNull();
    expect(moveBy(DOCUMENT, "s2", 1)).toBeNull();
  });
});

describe("the form", () => {
  const form = (): HTMLFormElement => document.querySelector("form") as HTMLFormElement;
  const field = (): HTMLInputElement => document.querySelector("input") as HTMLInputElement;
  const sent: string[] = [];
  const answer = (): void => void form().dispatchEvent(new Event("htmx:afterRequest", { bubbles: true }));

  beforeEach(() => {
    sent.length = 0;
    document.body.innerHTML = `<form id="edit"><input type="hidden" name="edit"></form>
      <script type="application/json" id="draft">${JSON.stringify(DOCUMENT)}</script>`;
    window.htmx = { trigger: (_, event) => void sent.push(`${event} ${field().value}`), ajax: () => Promise.resolve() };
  });
  afterEach(() => delete window.htmx);

  test("is read from the page", () => expect(readDocument()).toEqual(DOCUMENT));

  test("posts one operation at a time, each after the answer to the last", async () => {
    const edits = new EditForm();
    edits.post({ op: "remove", key: "s1" });
    edits.post({ op: "remove", key: "s2" });
    expect(sent).toEqual(['studio:edit {"op":"remove","key":"s1"}']);
    answer();
    await Promise.resolve();
    expect(sent[1]).toBe('studio:edit {"op":"remove","key":"s2"}');
  });

  test("does not send an operation again after it was answered", async () => {
    new EditForm().post({ op: "remove", key: "s1" });
    answer();
    await Promise.resolve();
    expect(field().value).toBe("");
  });

  test("is submitted as a plain form where there is no htmx", () => {
    delete window.htmx;
    const submit = vi.spyOn(form(), "requestSubmit").mockImplementation(() => undefined);
    new EditForm().post({ op: "duplicate", key: "s1" });
    expect(submit).toHaveBeenCalledOnce();
    expect(field().value).toBe('{"op":"duplicate","key":"s1"}');
  });
});
