/*
 * The plan as it is being written, as steps that can be drawn.
 *
 * A drafted step already carries the key it will have once the workflow is adopted (s1, s2, … in order, behind those
 * that are taken), which is what lets its card become real without moving.
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

/**
 * `steps` in order, behind those with the keys `taken`, with positions counted from 1 and reads named by key; reads of
 * unknown steps are left out. Those of a later round are told at their places in the whole workflow.
 */
export function drafted(steps: readonly DraftStep[], taken: readonly string[] = []): DraftedStep[] {
  const first = Math.min(...steps.map((step) => step.position));
  const highest = Math.max(0, ...taken.map(numberIn));
  const key = (position: number): string => `s${highest + position - first + 1}`;
  const known = new Map(steps.map((step) => [step.position, key(step.position)]));
  const named = (source: number): string | undefined => known.get(source) ?? taken[source - first + taken.length];
  return [...steps]
    .sort((a, b) => a.position - b.position)
    .map((step) => ({
      key: key(step.position),
      position: taken.length + step.position - first + 1,
      instruction: step.instruction,
      worker: step.worker,
      access:
        step.access?.filter((source) => source < step.position).flatMap((source) => named(source) ?? []) ?? null,
    }));
}

/** 12 for "s12", as the server counts on from; 0 for a key of another kind. */
const numberIn = (key: string): number => Number(/^s([1-9]\d{0,8})$/.exec(key)?.[1] ?? 0);
