/* Small shared parts of the cards. */
import { useContext, type ReactNode } from "react";
import { SharedContext } from "./context";
import type { WorkerLook } from "../workers";
import type { CardState } from "./model";

const SAID: Readonly<Record<CardState, string>> = {
  draft: "being planned",
  waiting: "waiting",
  held: "held",
  edited: "not run yet",
  running: "running",
  succeeded: "done",
  reused: "reused",
  written: "written by a person",
  failed: "failed",
  skipped: "skipped",
  cancelled: "cancelled",
};

export function Dot({ state }: { state: CardState }) {
  return (
    <span className="dot" data-state={state}>
      <span className="visually-hidden">{SAID[state]}</span>
    </span>
  );
}

/** Who is asked; where that is who stands in, behind the one in whose place. */
export function WorkerChip({ worker, insteadOf = null }: { worker: WorkerLook | null; insteadOf?: WorkerLook | null }) {
  if (worker === null) return <span className="flow-worker">no worker yet</span>;
  return (
    <span className="flow-worker" title={insteadOf === null ? undefined : `${worker.name} stood in for ${insteadOf.name}`}>
      {insteadOf !== null && (
        <>
          <i className="flow-replaced" data-colour={insteadOf.colour} aria-hidden="true">
            {insteadOf.letter}
          </i>
          <span className="visually-hidden">instead of {insteadOf.name}: </span>
        </>
      )}
      <i data-colour={worker.colour} aria-hidden="true">
        {worker.letter}
      </i>
      <span className="flow-name">{worker.name}</span>
      {worker.simulated && <small>simulated</small>}
    </span>
  );
}

/** Folds and unfolds a group. It stands beside the card, never in it: a button in a button can be reached by nobody. */
export function FoldButton({ group, isOpen, about, children }: FoldProps) {
  const { toggle } = useContext(SharedContext);
  return (
    <button
      type="button"
      className="flow-fold nodrag"
      data-fold={group}
      aria-expanded={isOpen}
      aria-label={`${isOpen ? "Fold" : "Unfold"} ${about}`}
      onClick={() => toggle(group)}
    >
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <path d={isOpen ? "M1 3 L5 7 L9 3" : "M3 1 L7 5 L3 9"} />
      </svg>
      {children}
    </button>
  );
}

type FoldProps = { group: string; isOpen: boolean; about: string; children?: ReactNode };
