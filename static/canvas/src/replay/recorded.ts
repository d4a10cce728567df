/* A recorded run as its file has it: the events of the run and of those nested in it, and how their texts grew. */
import type { RunEvent } from "../live/events";
import type { RunState, Step } from "../live/state";
import { History } from "../scrub/history";
import type { Source, Track } from "../scrub/tracks";
import type { Workers } from "../workers";

/** By the name of a run: "" is the run itself, the others are those that its steps became. */
type ByRun<T> = Readonly<Record<string, T>>;

export type Recording = {
  runs: ByRun<readonly RunEvent[]>;
  tracks: ByRun<Readonly<Record<string, Track>>>;
  texts: Readonly<Record<string, string>>;
  workers: Workers;
};

/** The run and the runs nested in it as they were at a moment. */
export type Then = { state: RunState; inside: ReadonlyMap<string, RunState>; time: number };

export class Recorded {
  readonly history = new History();
  private readonly inner = new Map<string, History>();

  constructor(runs: Recording["runs"]) {
    for (const [name, events] of Object.entries(runs)) {
      const history = name === "" ? this.history : new History();
      history.add(events);
      if (name !== "") this.inner.set(name, history);
    }
  }

  /** How it was at `position` of the outer run's history. */
  at(position: number): Then {
    const time = this.history.time(position);
    const isEnd = position >= this.history.length;
    const inside = [...this.inner].map(([name, history]): [string, RunState] => [
      name,
      history.state(isEnd ? history.length : history.position(time)),
    ]);
    return { state: this.history.state(position), inside: new Map(inside.filter(([, { seq }]) => seq > 0)), time };
  }
}

/** Every step by the way to it: "s2", and "s2/s1" for one of the run that step s2 became. */
export function stepsIn({ state, inside }: Then): Map<string, Step> {
  const found = new Map<string, Step>();
  const open: [string, RunState][] = [["", state]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [prefix, run] = next;
    for (const step of run.steps) {
      found.set(prefix + step.key, step);
      const nested = step.nested === null ? undefined : inside.get(step.nested);
      if (nested !== undefined) open.push([`${prefix}${step.key}/`, nested]);
    }
  }
  return found;
}

/** The tracks and the texts that the file has: nothing is fetched. */
export const fromFile = ({ tracks, texts }: Recording): Source => ({
  tracks: (name) => Promise.resolve(tracks[name] ?? {}),
  text: (_, stream) => Promise.resolve(texts[stream] ?? ""),
});
