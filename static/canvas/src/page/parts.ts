/* Which parts of the run page an event makes stale. */
import type { RunEvent } from "../live/events";
import { stepOf, type RunState } from "../live/state";

export type Part = "head" | "outline" | "answer" | "panel";

const ABOUT_THE_RUN = /^(?:run|planning|workflow)\./;

/** The parts to fetch again after `events` led from `before` to `after`, with `selected` in the panel. */
export function staleParts(
  events: readonly RunEvent[],
  before: RunState,
  after: RunState,
  selected: string | null,
): Set<Part> {
  const stale = new Set<Part>(["head"]);
  const isAnother = before.steps !== after.steps || before.status !== after.status;
  const isPlanned = before.planning !== after.planning || before.planningWaits !== after.planningWaits;
  const isMarked = before.breakpoints !== after.breakpoints;
  if (isMarked) stale.add("outline").add("panel");
  // Only while a run is held can a person write a result.
  if ((before.status === "held") !== (after.status === "held")) stale.add("panel");
  if (isAnother || isPlanned) stale.add("outline").add("answer");

  const shown = selected === null ? undefined : stepOf(after, selected);
  if (shown === undefined ? events.some((event) => ABOUT_THE_RUN.test(event.verb)) : changed(selected, before, after)) {
    stale.add("panel");
  }
  return stale;
}

const changed = (key: string | null, before: RunState, after: RunState): boolean =>
  stepOf(before, key) !== stepOf(after, key);
