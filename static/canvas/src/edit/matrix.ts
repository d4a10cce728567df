/*
 * Who may read whom, as a triangle: rows read columns.
 *
 * Each of its boxes is that of the form in another place: ticking one ticks the other, and what the form says is what
 * counts. Arrow keys move between the boxes, of which one at a time can be reached with Tab; Space ticks.
 */
import { title } from "../title";
import type { Document } from "./document";

export type Cell = { reader: string; source: string };

export class Matrix {
  private keys = "";
  private at: Cell | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly toggled: (cell: Cell, allowed: boolean) => void,
    private readonly selected: (step: string) => void,
  ) {
    host.addEventListener("keydown", (event) => this.onKey(event));
    host.addEventListener("change", (event) => this.onChange(event));
    host.addEventListener("focusin", (event) => this.onFocus(event));
  }

  /** Show what `document` says; what has the focus keeps it. */
  show(document: Document): void {
    const { steps } = document.workflow;
    const keys = steps.map((step) => `${step.key} ${step.instruction}`).join("\n");
    const hadFocus = this.host.contains(this.host.ownerDocument.activeElement);
    if (keys !== this.keys) this.host.replaceChildren(table(document));
    this.keys = keys;
    for (const box of this.boxes()) {
      const { reader, source } = cellOf(box);
      box.checked = steps.some((step) => step.key === reader && step.access.includes(source));
    }
    this.reach(this.at === null ? undefined : this.box(this.at), hadFocus);
  }

  focus(): void {
    this.boxes().find((box) => box.tabIndex === 0)?.focus();
  }

  private onKey(event: KeyboardEvent): void {
    const box = event.target as HTMLInputElement;
    if (box.dataset.reader === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.neighbour(box, event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.reach(next, true);
  }

  private onChange(event: Event): void {
    const box = event.target as HTMLInputElement;
    if (box.dataset.reader !== undefined) this.toggled(cellOf(box), box.checked);
  }

  private onFocus(event: FocusEvent): void {
    const box = event.target as HTMLInputElement;
    if (box.dataset.reader === undefined) return;
    this.reach(box, false);
    this.selected(box.dataset.reader);
  }

  /** Make `box`, or the first one, the one that Tab leads to. */
  private reach(box: HTMLInputElement | undefined, andFocus: boolean): void {
    const boxes = this.boxes();
    const chosen = box ?? boxes[0];
    for (const each of boxes) each.tabIndex = each === chosen ? 0 : -1;
    if (chosen === undefined) return;
    this.at = cellOf(chosen);
    if (andFocus) chosen.focus();
  }

  private neighbour(box: HTMLInputElement, key: string): HTMLInputElement | undefined {
    const [row, column] = [Number(box.dataset.row), Number(box.dataset.column)];
    switch (key) {
      case "ArrowLeft":
        return this.place(row, column - 1);
      case "ArrowRight":
        return this.place(row, column + 1);
      case "ArrowUp":
        return this.place(row - 1, Math.min(column, row - 2));
      case "ArrowDown":
        return this.place(row + 1, column);
      case "Home":
        return this.place(row, 0);
      case "End":
        return this.place(row, row - 1);
    }
    return undefined;
  }

  private place(row: number, column: number): HTMLInputElement | undefined {
    return this.host.querySelector<HTMLInputElement>(`[data-row="${row}"][data-column="${column}"]`) ?? undefined;
  }

  private box({ reader, source }: Cell): HTMLInputElement | undefined {
    return this.boxes().find((box) => box.dataset.reader === reader && box.dataset.source === source);
  }

  private boxes(): HTMLInputElement[] {
    return [...this.host.querySelectorAll<HTMLInputElement>("input[data-reader]")];
  }
}

const cellOf = (box: HTMLInputElement): Cell => ({ reader: box.dataset.reader ?? "", source: box.dataset.source ?? "" });

function table({ workflow: { steps } }: Document): HTMLElement {
  if (steps.length < 2) return element("p", { className: "empty" }, "With a second step there is something to read.");
  const columns = steps.slice(0, -1);
  const head = element("tr", {}, element("th", { scope: "col" }, "Reads"));
  for (const [at] of columns.entries()) head.append(element("th", { scope: "col", className: "number" }, `${at + 1}`));
  const body = element("tbody", {});
  for (const [row, reader] of steps.entries()) {
    const name = element("th", { scope: "row" }, `${row + 1} ${title(reader.instruction)}`);
    const cells = columns.map((source, column) =>
      column < row ? element("td", {}, box(row, column, reader.key, source.key)) : element("td", { className: "none" }),
    );
    body.append(element("tr", {}, name, ...cells));
  }
  const caption = element("caption", {}, "Rows read columns. Arrow keys move, Space ticks.");
  return element("table", {}, caption, element("thead", {}, head), body);
}

function box(row: number, column: number, reader: string, source: string): HTMLInputElement {
  const input = element("input", { type: "checkbox", tabIndex: -1 });
  input.ariaLabel = `Step ${row + 1} may read step ${column + 1}`;
  Object.assign(input.dataset, { reader, source, row: `${row}`, column: `${column}` });
  return input;
}

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  given: Partial<HTMLElementTagNameMap[Name]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), given);
  made.append(...children);
  return made;
}
