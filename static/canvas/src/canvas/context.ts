/* What cards and edges need beside their own data, so that neither is redrawn when only the other changes. */
import { createContext } from "react";
import type { Boxes } from "./geometry";
import { EMPTY, type GraphModel, type Past } from "./model";
import type { Tails } from "./tails";

export type Shared = {
  model: GraphModel;
  /** Everything that is seen and can be in the way of an edge. */
  boxes: Boxes;
  tails: Tails | null;
  editable: boolean;
  /** What the step under the pointer may read, and how near; null while no card is pointed at. */
  past: Past | null;
  /** Fold or unfold a round, or the nested run of a step. */
  toggle(key: string): void;
};

export const SharedContext = createContext<Shared>({
  model: EMPTY,
  boxes: new Map(),
  tails: null,
  editable: false,
  past: null,
  toggle: () => undefined,
});
