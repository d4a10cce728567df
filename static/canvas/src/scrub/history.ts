/*
 * All that happened in a run, as something to move about in: a position is an event, or some way from it to the next.
 *
 * Position 3 is just after the third event; 3.25 is a quarter of the time from there to the fourth.
 */
import type { RunEvent } from "../live/events";
import { reduce } from "../live/reduce";
import { NOTHING, type RunState } from "../live/state";

/** Events between states that are kept, so that going back does not begin at the first one. */
const KEPT_EVERY = 100;
/** A stretch in which nobody works is played in this time, however long it was. */
const QUIET_MS = 1_500;

export class History {
  private readonly events: RunEvent[] = [];
  private readonly times: number[] = [];
  private readonly kept: RunState[] = [NOTHING];
  private last: { after: number; state: RunState } = { after: 0, state: NOTHING };

  /** Those of `events` that are new; they must come in order. */
  add(events: readonly RunEvent[]): void {
    const known = this.events.at(-1)?.seq ?? 0;
    for (const event of events) {
      if (event.seq <= known) continue;
      this.events.push(event);
      // A clock that was set back must not make time run backwards.
      this.times.push(Math.max(Date.parse(event.at), this.times.at(-1) ?? -Infinity));
    }
  }

  get length(): number {
    return this.events.length;
  }

  /** The event that a position comes after. */
  event(position: number): RunEvent | undefined {
    return this.events[this.after(position) - 1];
  }

  /** The run as it was at a position. */
  state(position: number): RunState {
    const after = this.after(position);
    if (after < this.last.after) {
      const from = Math.min(Math.floor(after / KEPT_EVERY), this.kept.length - 1);
      this.last = { after: from * KEPT_EVERY, state: this.kept[from] as RunState };
    }
    let { after: at, state } = this.last;
    for (; at < after; at += 1) {
      state = reduce(state, this.events[at] as RunEvent);
      if ((at + 1) % KEPT_EVERY === 0) this.kept[(at + 1) / KEPT_EVERY] = state;
    }
    this.last = { after, state };
    return state;
  }

  /** The moment of a position, in milliseconds since 1970. */
  time(position: number): number {
    const after = this.after(position);
    const from = this.times[after - 1] ?? 0;
    const to = this.times[after] ?? from;
    return from + (to - from) * Math.max(0, position - after);
  }

  /** The position of a moment: behind all that had happened by then. */
  position(time: number): number {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.times[middle] as number) <= time) low = middle + 1;
      else high = middle;
    }
    const [from, to] = [this.times[low - 1], this.times[low]];
    return from === undefined || to === undefined ? low : low + (time - from) / (to - from);
  }

  /** The place after the event that the server numbers `seq`, or the last one before it. */
  afterSeq(seq: number): number {
    const index = this.events.findIndex((event) => event.seq > seq);
    return index < 0 ? this.events.length : Math.max(1, index);
  }

  /** Where one is `ms` later; stretches in which nobody works pass quickly. */
  later(position: number, ms: number): number {
    let [at, left] = [this.clamped(position), ms];
    while (at < this.length) {
      const after = Math.floor(at);
      const stretch = (this.times[after] as number) - (this.times[after - 1] as number);
      const lasts = this.isQuiet(after) ? Math.min(stretch, QUIET_MS) : stretch;
      const rest = lasts * (after + 1 - at);
      if (left < rest) return at + left / lasts;
      left -= rest;
      at = after + 1;
    }
    return this.length;
  }

  clamped(position: number): number {
    return Math.min(this.length, Math.max(1, position));
  }

  private after(position: number): number {
    return Math.floor(Math.min(this.length, Math.max(0, position)));
  }

  private isQuiet(position: number): boolean {
    return writing(this.state(position)).length === 0;
  }
}

/** The streams that are being written, of steps that became runs of their own as of others. */
export function writing(state: RunState): string[] {
  const calls = state.steps.flatMap(({ status, attempts }) => {
    const last = attempts.at(-1);
    return status === "running" && last?.status === "running" ? `a${last.id}` : [];
  });
  const plans = state.planning.flatMap(({ status, proposal }) => (status === "running" ? `p${proposal}` : []));
  return [...plans, ...calls];
}
