/* The panel of the selected step: HTML from the server, fetched when the selection or the step changes. */
import { htmx } from "./htmx";

export class Panel {
  private edge: string | null = null;

  constructor(private readonly code: string) {}

  /** Show `step`, in the tab that is open now. */
  show(step: string | null): void {
    this.edge = null;
    this.fetch(step, this.openTab());
  }

  /** Show what `reader` was given, with the piece from `source` in view. */
  showEdge(edge: { source: string; reader: string }): void {
    this.edge = edge.source;
    this.fetch(edge.reader, "context");
  }

  refresh(step: string | null): void {
    this.fetch(step, this.openTab());
  }

  /** After a swap: bring the piece that was asked for into view. */
  settle(): void {
    if (this.edge === null) return;
    const piece = element()?.querySelector<HTMLElement>(`[data-source="${CSS.escape(this.edge)}"]`);
    if (!piece) return;
    this.edge = null;
    if (piece instanceof HTMLDetailsElement) piece.open = true;
    piece.setAttribute("data-marked", "");
    piece.scrollIntoView({ block: "nearest" });
  }

  private openTab(): string | null {
    return element()?.querySelector<HTMLElement>('[data-tab][aria-selected="true"], [data-tab][aria-current]')?.dataset.tab ?? null;
  }

  private fetch(step: string | null, tab: string | null): void {
    const panel = element();
    if (panel === null) return;
    if (step === null) return htmx()?.trigger(panel, "studio:refresh");
    const path = `/runs/${this.code}/steps/${encodeURIComponent(step)}/${tab === null ? "" : `?tab=${tab}`}`;
    void htmx()?.ajax("GET", path, { source: panel, target: panel, swap: panel.getAttribute("hx-swap") ?? "innerHTML" });
  }
}

const element = (): HTMLElement | null => document.getElementById("panel");
