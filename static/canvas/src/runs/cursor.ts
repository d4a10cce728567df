/* The run of the list that is marked: j and k move it, and with it the focus and the look beside the list. */
import { coalesced } from "../page/refresh";
import { isBusy } from "../studio/palette";
import type { Peek } from "./peek";

export class Cursor {
  private marked: string | null = null;
  private readonly refresh = coalesced(() => this.peek.isOpen && this.marked !== null && this.peek.show(this.marked), 1_000);

  constructor(private readonly peek: Peek) {
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("focusin", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("tr[data-run]");
      if (row !== null) this.mark(row);
    });
  }

  /** The rows were replaced. */
  settle(): void {
    const row = this.rows().find((each) => each.dataset.run === this.marked);
    if (row === undefined) return;
    this.mark(row);
    this.refresh();
  }

  private rows(): HTMLElement[] {
    return [...document.querySelectorAll<HTMLElement>("#runs tr[data-run]")];
  }

  private mark(row: HTMLElement): void {
    this.marked = row.dataset.run ?? null;
    for (const each of this.rows()) each.toggleAttribute("data-marked", each === row);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return;
    if (event.key === "j" || event.key === "k") this.move(event, event.key === "j" ? 1 : -1);
    else if (event.key === "x") this.pick(event);
    else if (event.key === "/") this.filter(event);
    else if (event.key === "Escape") this.close();
  }

  private move(event: KeyboardEvent, by: 1 | -1): void {
    const row = rowAfter(this.rows(), this.marked, by);
    if (row === null) return;
    event.preventDefault();
    this.look(row);
  }

  private look(row: HTMLElement): void {
    this.mark(row);
    row.querySelector<HTMLElement>(".title a")?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    this.peek.show(row.dataset.run ?? "");
  }

  private pick(event: KeyboardEvent): void {
    const row = this.rows().find((each) => each.dataset.run === this.marked);
    if (row === undefined) return;
    event.preventDefault();
    row.querySelector<HTMLElement>("[name=pick]")?.click();
  }

  private filter(event: KeyboardEvent): void {
    event.preventDefault();
    document.querySelector<HTMLInputElement>("#q")?.select();
  }

  private click(event: MouseEvent): void {
    const target = event.target as Element;
    const row = target.closest("[data-peek]")?.closest<HTMLElement>("tr[data-run]");
    if (row) this.look(row);
    else if (target.closest("[data-close-peek]")) this.close();
  }

  private close(): void {
    if (!this.peek.isOpen) return;
    this.peek.close();
    document.getElementById(`run-${this.marked ?? ""}`)?.focus({ preventScroll: true });
  }
}

/** The row `by` places from the one of run `at`, held within the list; from nowhere the first, or the last. */
export function rowAfter(rows: readonly HTMLElement[], at: string | null, by: 1 | -1): HTMLElement | null {
  const index = rows.findIndex((row) => row.dataset.run === at);
  if (index < 0) return rows.at(by === 1 ? 0 : -1) ?? null;
  return rows[Math.min(rows.length - 1, Math.max(0, index + by))] ?? null;
}
