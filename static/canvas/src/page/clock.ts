/*
 * The elapsed time, ticking between fetches of the page's head.
 *
 * `[data-elapsed]` holds the seconds already gone when the server wrote it, so that the viewer's clock, right or
 * wrong, does not matter. Of several such readings the earliest start is kept: the time never steps back.
 */
import { seconds } from "../numbers";

const TICK_MS = 100;

export class Clock {
  private startedAt = Infinity;
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly seen = new WeakSet<HTMLElement>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Read the time gone from a freshly fetched head, and tick while there is one. */
  find(): void {
    for (const element of elements()) {
      if (this.seen.has(element)) continue;
      this.seen.add(element);
      const gone = Number(element.dataset.elapsed);
      if (Number.isFinite(gone)) this.startedAt = Math.min(this.startedAt, this.now() - gone * 1000);
    }
    this.tick();
    this.timer ??= setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private tick(): void {
    if (this.startedAt === Infinity) return;
    const text = seconds(Math.max(0, this.now() - this.startedAt));
    for (const element of elements()) if (element.textContent !== text) element.textContent = text;
  }
}

const elements = (): NodeListOf<HTMLElement> => document.querySelectorAll<HTMLElement>("[data-elapsed]");
