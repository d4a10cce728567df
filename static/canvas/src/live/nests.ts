/*
 * The runs that steps of this page's run became, each followed on a line of its own, and those nested in them.
 *
 * A nested run is followed from when its step begins until it is over: how far it is shows while it is folded, too.
 */
import type { RunEvent } from "./events";
import { Session } from "./session";
import type { LiveSocket } from "./socket";
import { isOver, type RunState } from "./state";
import type { Streams } from "./streams";

export type Line = Pick<LiveSocket, "start" | "end" | "hello" | "fill">;

/** `path` leads to the step that became the run: "s2", or "s2/s1" for one within a nested one. */
export type Nested = { code: string; path: string; session: Session; line: Line };

type Options = {
  streams: Streams;
  /** A line to the run `code`, whose frames go to `session`. */
  open: (code: string, session: () => Session) => Line;
  onEvents: (nested: Nested, events: readonly RunEvent[], before: RunState, after: RunState) => void;
  onText: (stream: string) => void;
  onDraft: () => void;
};

/** More than any run has; a page must not open lines without end. */
const MOST = 40;

export class Nests {
  private readonly nested = new Map<string, Nested>();

  constructor(private readonly options: Options) {}

  get(code: string): Session | undefined {
    return this.nested.get(code)?.session;
  }

  all(): readonly Nested[] {
    return [...this.nested.values()];
  }

  /** Follow the runs nested in the steps of `state`, which is that of the run within `prefix`. */
  follow(state: RunState, prefix = ""): void {
    for (const { key, nested } of state.steps) {
      if (nested === null || this.nested.has(nested) || this.nested.size >= MOST) continue;
      this.begin(nested, prefix + key);
    }
  }

  private begin(code: string, path: string): void {
    const line = this.options.open(code, () => session);
    const session: Session = new Session(line, this.options.streams);
    const nested = { code, path, session, line };
    this.nested.set(code, nested);
    session.listen({
      onEvents: (events, before, after) => {
        this.follow(after, `${path}/`);
        this.options.onEvents(nested, events, before, after);
        if (isOver(after.status)) line.end();
      },
      onText: this.options.onText,
      onDraft: this.options.onDraft,
    });
    line.start();
  }
}
