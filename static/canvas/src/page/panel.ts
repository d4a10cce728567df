/* The panel of the selected step: HTML from the server, fetched when the selection or the step changes. */
import { htmx } from "./htmx";
import { isTyping } from "./selection";

export class Panel {
  /** The step whose text, as it was passed on, is looked at. */
  private source: string | null = null;
  private isNew = false;

  constructor(private readonly code: string) {}

  /** Show `step`, in the tab that is open now. */
  show(step: string | null): void {
    this.source = null;
    this.fetch(step, openTab());
  }

  /** Show what `reader` was given, with the piece from `source` in view. */
  showEdge(edge: { source: string; reader: string }): void {
    this.source = edge.source;
    this.isNew = true;
    this.fetch(edge.reader, "context");
  }

  /** What somebody is writing in it is not taken from under their hands. */
  refresh(step: string | null): void {
    if (isWrittenIn()) return;
    this.fetch(step, openTab());
  }

  /** After a swap: bring the piece that was asked for into view, once. */
  settle(): void {
    if (this.source === null || !this.isNew) return;
    const piece = element()?.querySelector<HTMLElement>(`[data-source="${CSS.escape(lastKey(this.source))}"]`);
    if (!piece) return;
    this.isNew = false;
    if (piece instanceof HTMLDetailsElement) piece.open = true;
    piece.setAttribute("data-marked", "");
    piece.scrollIntoView({ block: "nearest" });
  }

  private fetch(step: string | null, tab: string | null): void {
    const panel = element();
    if (panel === null) return;
    if (step === null) return htmx()?.trigger(panel, "studio:refresh");
    const path = stepPath(this.code, step, tab, this.source);
    void htmx()?.ajax("GET", path, { source: panel, target: panel, swap: panel.getAttribute("hx-swap") ?? "innerHTML" });
  }
}

/** Where the server has the panel of `step`, a path for one of a nested run ("s2/s1"); the source of a piece is of interest in the context alone. */
export function stepPath(code: string, step: string, tab: string | null, source: string | null): string {
  const asked = new URLSearchParams();
  if (tab !== null) asked.set("tab", tab);
  if (tab === "context" && source !== null) asked.set("source", lastKey(source));
  const query = asked.size > 0 ? `?${asked}` : "";
  return `/runs/${encodeURIComponent(code)}/steps/${step.split("/").map(encodeURIComponent).join("/")}/${query}`;
}

/** A step's key within its own run. */
const lastKey = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** b sets a breakpoint at the step that is shown, or takes it away. */
export function breakByKey(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "b" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const button = element()?.querySelector<HTMLElement>("[data-break]");
    if (!button) return;
    event.preventDefault();
    button.click();
  });
}

const isWrittenIn = (): boolean =>
  Array.from(element()?.querySelectorAll("textarea:not([hidden])") ?? []).some(
    (field) => field instanceof HTMLTextAreaElement && field.value !== field.defaultValue,
  );

const element = (): HTMLElement | null => document.getElementById("panel");

const openTab = (): string | null =>
  element()?.querySelector<HTMLElement>('[data-tab][aria-selected="true"], [data-tab][aria-current]')?.dataset.tab ?? null;
