/*
 * Which groups are folded: rounds are open until somebody folds them, nested runs are folded until somebody opens them.
 *
 * The tab remembers it, so that a reload shows the same.
 */
import { Store } from "../store";
import { around, isRound, type Graph } from "./model";

export class Folds extends Store<ReadonlySet<string>> {
  constructor(private readonly memory: string | null = null) {
    super(recall(memory));
  }

  isOpen(key: string): boolean {
    return isRound(key) !== this.get().has(key);
  }

  toggle(key: string): void {
    this.open(key, !this.isOpen(key));
  }

  open(key: string, isOpen: boolean): void {
    if (isOpen === this.isOpen(key)) return;
    const turned = new Set(this.get());
    if (!turned.delete(key)) turned.add(key);
    this.set(turned);
    keep(this.memory, turned);
  }

  /** Unfold whatever hides `step`. */
  reveal(step: string, { rounds }: Pick<Graph, "rounds">): void {
    const outermost = around(step)[0] ?? step;
    const round = rounds.find(({ members }) => members.includes(outermost));
    for (const key of [...(round ? [round.key] : []), ...around(step)]) this.open(key, true);
  }
}

function recall(memory: string | null): ReadonlySet<string> {
  try {
    const text = memory === null ? null : sessionStorage.getItem(memory);
    return new Set(text === null ? [] : (JSON.parse(text) as string[]));
  } catch {
    return new Set();
  }
}

function keep(memory: string | null, turned: ReadonlySet<string>): void {
  try {
    if (memory !== null) sessionStorage.setItem(memory, JSON.stringify([...turned]));
  } catch {
    // As with the places of cards: a forbidden storage costs only the memory.
  }
}
