/* Two runs drawn as one graph, as the server wrote it into the page. */
import { NO_GRAPH, type CardState, type Difference, type Graph } from "../canvas/model";
import { lookOf, readJson, type Workers } from "../workers";

export type MergedStep = {
  key: string;
  /** The element of the page that tells of it, and where it is told of alone. */
  anchor: string;
  url: string;
  number: number;
  title: string;
  role: string;
  difference: Difference;
  state: CardState;
  worker: string;
  /** What it is beside the other run, in words, and what differs. */
  label: string;
  text: string;
};
export type MergedEdge = { source: string; reader: string; difference: Difference; carried: boolean };
export type Merged = { steps: MergedStep[]; edges: MergedEdge[] };

const NOTHING: Merged = { steps: [], edges: [] };

export const readMerged = (): Merged => readJson<Merged>("merged") ?? NOTHING;

export function graphOf({ steps, edges }: Merged, workers: Workers): Graph {
  return {
    ...NO_GRAPH,
    cards: steps.map((step) => ({
      key: step.key,
      access: edges.filter(({ reader }) => reader === step.key).map(({ source }) => source),
      round: 1,
      position: step.number,
      title: step.title,
      role: step.role,
      state: step.state,
      worker: lookOf(workers, step.worker),
      insteadOf: null,
      meta: step.label,
      text: step.text,
      stream: null,
      problems: [],
      nest: null,
      difference: step.difference,
    })),
    edges: edges.map(({ source, reader, difference, carried }) => ({
      source,
      reader,
      tokens: carried ? 0 : null,
      problem: null,
      difference,
    })),
  };
}
