/* The last words of each stream, for the cards: changed a few times a second however fast the text comes. */
import { tail, type Streams } from "../live/streams";

const LENGTH = 60;
const EVERY_MS = 90;
const WINDOW_MS = 3_000;
/** Only for the eye, and marked as an estimate: the provider's own count comes with the result. */
const POINTS_PER_TOKEN = 4;

export type Tail = { text: string; rate: string };

const SILENT: Tail = { text: "", rate: "" };

export class Tails {
  private readonly tails = new Map<string, Tail>();
  private readonly samples = new Map<string, { at: number; points: number }[]>();
  private readonly watchers = new Set<() => void>();
  private readonly changed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly streams: Streams) {}

  grew(stream: string): void {
    this.changed.add(stream);
    this.timer ??= setTimeout(() => this.tell(), EVERY_MS);
  }

  get(stream: string | null): Tail {
    return (stream !== null && this.tails.get(stream)) || SILENT;
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private tell(): void {
    this.timer = undefined;
    for (const stream of this.changed) {
      this.tails.set(stream, { text: tail(this.streams.text(stream), LENGTH), rate: this.rate(stream) });
    }
    this.changed.clear();
    for (const watcher of this.watchers) watcher();
  }

  private rate(stream: string): string {
    const now = { at: performance.now(), points: this.streams.points(stream) };
    const recent = (this.samples.get(stream) ?? []).filter((sample) => now.at - sample.at < WINDOW_MS);
    this.samples.set(stream, [...recent, now]);
    const first = recent[0];
    if (first === undefined || now.at - first.at < WINDOW_MS / 4) return "";
    const perSecond = ((now.points - first.points) / POINTS_PER_TOKEN / (now.at - first.at)) * 1000;
    return `≈ ${Math.round(perSecond)} tok/s`;
  }
}
