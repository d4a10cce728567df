/* The operations a person can do in the canvas. All of their logic is the server's; these only name them. */
import { indexOf, type Document } from "./document";

export type Edit =
  | { op: "add"; after: string | null; instruction: string; worker: string; access: string[] }
  | { op: "duplicate" | "remove"; key: string }
  | { op: "move"; key: string; to: number }
  | { op: "allow" | "deny"; reader: string; source: string };

/** A new step after `after`, or at the end; by the same worker, as long as nobody has said otherwise. */
export function addAfter(document: Document, after: string | null): Edit {
  const { steps } = document.workflow;
  const neighbour = steps.find((step) => step.key === after) ?? steps.at(-1);
  return {
    op: "add",
    after: neighbour?.key ?? null,
    instruction: "",
    worker: neighbour?.worker ?? document.pool[0] ?? "",
    access: [],
  };
}

/** `key` moved one place, or null at the end of the road. */
export function moveBy(document: Document, key: string, by: 1 | -1): Edit | null {
  const to = indexOf(document, key) + by;
  return to >= 0 && to < document.workflow.steps.length ? { op: "move", key, to } : null;
}
