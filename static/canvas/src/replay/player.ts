/* Moves through the moments of a recorded run: by hand, or by itself at a multiple of the pace at which it happened. */

type Timers = { set(then: () => void, ms: number): unknown; clear(timer: unknown): void };

/** Nobody waits longer for the next event, however long the run did. */
const LONGEST_MS = 2_500;
const SHORTEST_MS = 30;

const CLOCK: Timers = {
  set: (then, ms) => setTimeout(then, ms),
  clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

export class Player {
  position: number;
  speed = 4;
  private timer: unknown = null;

  /** `times` of the instants in milliseconds; `show` is told of the position and of whether it goes on by itself. */
  constructor(
    private readonly times: readonly number[],
    private readonly show: (position: number, isPlaying: boolean) => void,
    private readonly timers: Timers = CLOCK,
  ) {
    this.position = this.last;
  }

  get last(): number {
    return Math.max(0, this.times.length - 1);
  }

  get isPlaying(): boolean {
    return this.timer !== null;
  }

  /** Go on by itself, from the beginning where it is at the end; or stop. */
  toggle(): void {
    if (this.isPlaying) return this.stop();
    if (this.position >= this.last) this.position = 0;
    this.wait();
    this.tell();
  }

  /** Go to `position`, and stay there. */
  go(position: number): void {
    this.halt();
    this.position = Math.min(this.last, Math.max(0, Math.round(position)));
    this.tell();
  }

  stop(): void {
    this.halt();
    this.tell();
  }

  private halt(): void {
    if (this.timer !== null) this.timers.clear(this.timer);
    this.timer = null;
  }

  private wait(): void {
    const gap = (this.times[this.position + 1] ?? 0) - (this.times[this.position] ?? 0);
    const ms = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, gap / this.speed));
    this.timer = this.timers.set(() => this.advance(), ms);
  }

  private advance(): void {
    this.timer = null;
    this.position += 1;
    if (this.position < this.last) this.wait();
    this.tell();
  }

  private tell(): void {
    this.show(this.position, this.isPlaying);
  }
}
