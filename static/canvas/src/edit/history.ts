/* What the form said before, and after that again: the past and the future of one page. */

/** States that are kept; of more, the oldest are forgotten. */
const MOST = 200;

export class History {
  private past: string[] = [];
  private future: string[] = [];

  constructor(private present: string) {}

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** The form says `state` by now: what it said before can be gone back to. */
  note(state: string): void {
    if (state === this.present) return;
    this.past = [...this.past, this.present].slice(-MOST);
    this.present = state;
    this.future = [];
  }

  /** The form says what it was made to say, in the server's own spelling. */
  settle(state: string): void {
    this.present = state;
  }

  /** What to make the form say again; null where there is nothing before. */
  undo(): string | null {
    const state = this.past.pop();
    if (state === undefined) return null;
    this.future.push(this.present);
    this.present = state;
    return state;
  }

  /** The opposite of `undo`. */
  redo(): string | null {
    const state = this.future.pop();
    if (state === undefined) return null;
    this.past.push(this.present);
    this.present = state;
    return state;
  }
}
