/* A look at the marked run, beside the list. Keys may pass many runs: only the one they come to rest at is fetched. */
import { htmx } from "../page/htmx";

const REST_MS = 90;

export class Peek {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly place = document.getElementById("peek");

  get isOpen(): boolean {
    return this.place?.hidden === false;
  }

  show(code: string): void {
    clearTimeout(this.timer);
    const wait = this.isOpen ? REST_MS : 0;
    this.timer = setTimeout(() => void this.fetch(code), wait);
  }

  close(): void {
    clearTimeout(this.timer);
    if (this.place === null) return;
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  private async fetch(code: string): Promise<void> {
    if (this.place === null) return;
    this.place.hidden = false;
    await htmx()?.ajax("GET", `/runs/${encodeURIComponent(code)}/peek/`, { source: this.place, target: this.place, swap: "innerHTML" });
  }
}
