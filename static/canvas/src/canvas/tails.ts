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

  /** What streams said at an earlier moment, which is shown in the place of what they say now. */
  private then: ((stream: string) => string) | null = null;
  private readonly told = new Map<string, Tail>();

  constructor(private readonly streams: Streams) {}

  grew(stream: string): void {
    this.changed.add(stream);
    this.timer ??= setTimeout(() => this.tell(), EVERY_MS);
  }

  get(stream: string | null): Tail {
    if (stream === null) return SILENT;
    return (this.then === null ? this.tails.get(stream) : this.asThen(stream, this.then)) ?? SILENT;
  }

  /** Show what `then` says of each stream, until that is null. */
  show(then: ((stream: string) => string) | null): void {
    this.then = then;
    this.told.clear();
    for (const watcher of this.watchers) watcher();
  }

  /** The same object for the same text, or whoever watches would never come to rest. */
  private asThen(stream: string, then: (stream: string) => string): Tail {
    const known = this.told.get(stream) ?? { text: tail(then(stream), LENGTH), rate: "" };
    this.told.set(stream, known);
    return known;
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
