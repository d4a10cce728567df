/*
 * The plan as it is being written, as steps that can be drawn.
 *
 * A drafted step already carries the key it will have once the workflow is adopted (s1, s2, … in order), which is
 * what lets its card become real without moving.
 */
import type { DraftStep } from "./live/events";

export type DraftedStep = {
  key: string;
  position: number;
  instruction: string | null;
  worker: string | null;
  /** Null while not yet known. */
  access: readonly string[] | null;
};

/** `steps` in order, with positions counted from 1 and reads named by key; reads of unknown steps are left out. */
export function drafted(steps: readonly DraftStep[]): DraftedStep[] {
  const first = Math.min(...steps.map((step) => step.position));
  const key = (position: number): string => `s${position - first + 1}`;
  const known = new Set(steps.map((step) => step.position));
  return [...steps]
    .sort((a, b) => a.position - b.position)
    .map((step) => ({
      key: key(step.position),
      position: step.position - first + 1,
      instruction: step.instruction,
      worker: step.worker,
      access:
        step.access?.filter((source) => known.has(source) && source < step.position).map(key) ?? null,
    }));
}
