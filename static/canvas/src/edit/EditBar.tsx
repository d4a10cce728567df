/* The tools over the canvas while editing, the question before a loss, and what was refused. */
import { Panel } from "@xyflow/react";
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { Selection } from "../canvas/model";
import type { Store } from "../store";

export type Tools = {
  selection: Selection;
  canMoveEarlier: boolean;
  canMoveLater: boolean;
  canUndo: boolean;
  canRedo: boolean;
  /** A question to be answered before a step is removed. */
  question: { title: string; loss: string } | null;
  notice: string | null;
  problems: readonly string[];
};

export type ToolActions = {
  add(): void;
  duplicate(): void;
  remove(): void;
  move(by: 1 | -1): void;
  undo(): void;
  redo(): void;
  answer(yes: boolean): void;
};

export function EditBar({ store, actions }: { store: Store<Tools>; actions: ToolActions }) {
  const tools = useSyncExternalStore(store.watch, store.get);
  const { step, edge } = tools.selection;
  return (
    <>
      <Panel position="top-left" className="flow-float flow-tools">
        <button type="button" onClick={actions.add}>
          Add step
        </button>
        <button type="button" disabled={step === null} onClick={actions.duplicate}>
          Duplicate
        </button>
        <button type="button" disabled={step === null && edge === null} onClick={actions.remove}>
          {edge === null ? "Remove" : "Stop reading"}
        </button>
        <button type="button" disabled={!tools.canMoveEarlier} onClick={() => actions.move(-1)}>
          ← Earlier
        </button>
        <button type="button" disabled={!tools.canMoveLater} onClick={() => actions.move(1)}>
          Later →
        </button>
        <button type="button" disabled={!tools.canUndo} title="Undo (Ctrl Z)" onClick={actions.undo}>
          Undo
        </button>
        <button type="button" disabled={!tools.canRedo} title="Redo (Ctrl Shift Z)" onClick={actions.redo}>
          Redo
        </button>
      </Panel>
      <Panel position="bottom-center" className="flow-notices">
        {tools.problems.map((problem) => (
          <p key={problem} className="flow-notice" data-kind="problem">
            {problem}
          </p>
        ))}
        <div role="status">{tools.notice !== null && <p className="flow-notice">{tools.notice}</p>}</div>
      </Panel>
      {tools.question !== null && <Question {...tools.question} answer={actions.answer} />}
    </>
  );
}

function Question({ title, loss, answer }: { title: string; loss: string; answer(yes: boolean): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className="flow-question"
      aria-labelledby="flow-question"
      onKeyDown={(event) => event.stopPropagation()}
      onClose={() => answer(dialog.current?.returnValue === "remove")}
    >
      <form method="dialog">
        <h2 id="flow-question">{title}</h2>
        <p>{loss}</p>
        <div>
          <button value="keep">Keep it</button>
          <button value="remove" className="danger">
            Remove
          </button>
        </div>
      </form>
    </dialog>
  );
}
