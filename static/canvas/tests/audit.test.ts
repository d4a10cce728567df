// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { EventRows, placeAfter } from "../src/audit/rows";

const row = (pk: number, open = false): string => `
  <tbody id="event-${pk}"${open ? " data-open" : ""}><tr><td class="what"><a id="open-${pk}" href="#">Run submitted</a></td></tr>
  ${open ? `<tr><td><button id="inside-${pk}">In it</button></td></tr>` : ""}</tbody>`;
const focused = (): string => document.activeElement?.id ?? "";
const press = (key: string): boolean =>
  (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

let clicked: string[] = [];
const rows = new EventRows();

beforeEach(() => {
  clicked = [];
  document.body.innerHTML = `<input id="q"><table class="events">${row(1)}${row(2, true)}${row(3)}</table>`;
  for (const link of document.querySelectorAll<HTMLElement>(".what > a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      clicked.push(link.id);
    });
  }
});

test("j and k go from event to event, and stay within the list", () => {
  const passed = ["j", "j", "j", "j", "k"].map((key) => (press(key), focused()));

  expect(passed).toEqual(["open-1", "open-2", "open-3", "open-3", "open-2"]);
  expect([placeAfter(0, -1, 1), placeAfter(3, -1, -1), placeAfter(3, 0, -1)]).toEqual([null, 2, 0]);
});

test("within an open event, j goes on from it, and Escape closes it", () => {
  document.getElementById("inside-2")?.focus();
  press("Escape");
  press("j");

  expect(clicked).toEqual(["open-2"]);
  expect(focused()).toBe("open-3");
});

test("a space presses an event, and a letter in the filter is a letter", () => {
  document.getElementById("open-1")?.focus();
  const wasFree = press(" ");
  document.getElementById("q")?.focus();
  press("j");

  expect([wasFree, clicked, focused()]).toEqual([false, ["open-1"], "q"]);
});

test("an event that was replaced by itself is where one still is", () => {
  document.getElementById("open-1")?.focus();
  press("Enter");
  document.getElementById("event-1")!.outerHTML = row(1, true);
  rows.settle();

  expect(focused()).toBe("open-1");
});
