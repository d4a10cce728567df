/*
 * A recorded run, moment by moment: the run as it was after each event is a fold over the events before it.
 *
 * The runs nested in it have trails of their own; by their times all of them become one row of moments.
 */
import type { RunEvent } from "../live/events";
import { reduce } from "../live/reduce";
import { NOTHING, type RunState } from "../live/state";

/** The events of the run under the name "", and those of the runs nested in it under the names its steps give them. */
export type Recorded = Readonly<Record<string, readonly RunEvent[]>>;

export type Moment = { at: number; run: string; event: RunEvent };

/** The run and the runs nested in it as they were after a moment. */
export type Instant = { state: RunState; inside: ReadonlyMap<string, RunState>; at: number };

/** All that happened, in the order in which it did; of what happened at once the outer run's comes first. */
export function momentsOf(runs: Recorded): Moment[] {
  const all = Object.entries(runs).flatMap(([run, events]) =>
    events.map((event) => ({ at: Date.parse(event.at), run, event })),
  );
  return all.sort((a, b) => a.at - b.at || a.run.localeCompare(b.run) || a.event.seq - b.event.seq);
}

/** The instants after none, one, two, … of `moments`: there is one more of them. */
export function instantsOf(moments: readonly Moment[]): Instant[] {
  const begin = moments[0]?.at ?? 0;
  const instants: Instant[] = [{ state: NOTHING, inside: new Map(), at: begin }];
  for (const moment of moments) instants.push(after(instants[instants.length - 1] as Instant, moment));
  return instants;
}

function after({ state, inside }: Instant, { run, event, at }: Moment): Instant {
  if (run === "") return { state: reduce(state, event), inside, at };
  return { state, inside: new Map(inside).set(run, reduce(inside.get(run) ?? NOTHING, event)), at };
}

/** The step of the moment, by the way to it; null where it is about no step. */
export function stepIn({ run, event }: Moment, paths: ReadonlyMap<string, string>): string | null {
  const { data } = event as { data: { step?: unknown } };
  if (typeof data.step !== "string") return null;
  const path = paths.get(run);
  return run === "" ? data.step : path === undefined ? null : `${path}/${data.step}`;
}

/** The way to the step that each nested run was carried out for, by the run's name. */
export function pathsIn(runs: Recorded): Map<string, string> {
  const paths = new Map([["", ""]]);
  const open = [""];
  for (let run = open.pop(); run !== undefined; run = open.pop()) {
    for (const event of runs[run] ?? []) {
      if (event.verb !== "step.started" || !event.data.nested || paths.has(event.data.nested)) continue;
      paths.set(event.data.nested, `${run === "" ? "" : `${paths.get(run)}/`}${event.data.step}`);
      open.push(event.data.nested);
    }
  }
  return paths;
}
