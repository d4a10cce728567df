/* The operations a person can do in the canvas. All of their logic is the server's; these only name them. */
import { isSink } from "../canvas/model";
import type { Sink } from "../live/events";
import { indexOf, type Document } from "./document";

export type Edit =
  | { op: "add"; after: string | null; instruction: string; worker: string; access: string[] }
  | { op: "duplicate" | "remove"; key: string }
  | { op: "move"; key: string; to: number }
  | { op: "allow" | "deny"; reader: string; source: string }
  | { op: "sink"; sink: Sink };

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

/** A line drawn from `source` to `reader`: a read, or, where it leads to the sink, one more result that counts. */
export function drawn(document: Document, reader: string, source: string): Edit {
  const { sink } = document.workflow;
  if (!isSink(reader) || sink.kind === "last") return { op: "allow", reader, source };
  const over = document.workflow.steps.map((step) => step.key).filter((key) => key === source || sink.over.includes(key));
  // Weights were learnt for the steps as they were: with another step they mean nothing.
  return { op: "sink", sink: { kind: sink.kind, over } };
}
