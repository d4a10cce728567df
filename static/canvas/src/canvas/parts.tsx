/* Small shared parts of the cards. */
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

export function WorkerChip({ worker }: { worker: WorkerLook | null }) {
  if (worker === null) return <span className="flow-worker">no worker yet</span>;
  return (
    <span className="flow-worker">
      <i data-colour={worker.colour} aria-hidden="true">
        {worker.letter}
      </i>
      <span className="flow-name">{worker.name}</span>
      {worker.simulated && <small>simulated</small>}
    </span>
  );
}
