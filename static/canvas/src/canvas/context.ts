/* What cards and edges need beside their own data, so that neither is redrawn when only the other changes. */
import { createContext } from "react";
import type { Places } from "./geometry";
import { EMPTY, type GraphModel, type Past } from "./model";
import type { Tails } from "./tails";

export type Shared = {
  model: GraphModel;
  places: Places;
  tails: Tails | null;
  editable: boolean;
  /** What the step under the pointer may read, and how near; null while no card is pointed at. */
  past: Past | null;
};

export const SharedContext = createContext<Shared>({
  model: EMPTY,
  places: new Map(),
  tails: null,
  editable: false,
  past: null,
});
