/* A step as a card. It is a button: Enter selects it, arrows lead to its neighbours (see Canvas). */
import { Handle, Position } from "@xyflow/react";
import { memo, useCallback, useContext, useSyncExternalStore } from "react";
import { SharedContext } from "./context";
import type { StepNodeData } from "./flow";
import { Dot, FoldButton, WorkerChip } from "./parts";
import { tail as shortTail } from "../live/streams";
import type { Tail, Tails } from "./tails";

/** Characters of a title that surely fit on one line; a longer one takes the second line of the text. */
const ONE_LINE = 20;
const SHORT_TAIL = 23;

export const StepCard = memo(function StepCard({ data }: { data: StepNodeData }) {
  const { card, isRead } = data;
  const { model, tails, editable, past } = useContext(SharedContext);
  const tail = useTail(tails, card.stream);
  const isSelected = model.selection.step === card.key;
  const problem = card.problems.find((each) => each.severity === "error") ?? card.problems[0];
  const isWriting = tail.text !== "";
  const isLong = Array.from(`${card.role} ${card.title}`).length > ONE_LINE;

  return (
    <>
      <Handle
        type="target"
        position={Position.Left}
        isConnectable={editable}
        className={editable || (card.access ?? []).length > 0 ? "" : "flow-unused"}
        title={editable ? "Reads: drag from another step to here" : undefined}
      />
      <div
        className="flow-card"
        role="button"
        tabIndex={0}
        aria-pressed={isSelected}
        data-key={card.key}
        data-state={card.state}
        data-problem={problem?.severity}
        data-long={isLong}
        data-nests={card.nest !== null}
        data-difference={card.difference}
        data-stand-in={card.insteadOf !== null}
        data-breakpoint={card.hasBreakpoint === true}
        data-past={past === null ? undefined : (past.get(card.key) ?? "none")}
      >
        <div className="flow-title">
          <Dot state={card.state} />
          {card.hasBreakpoint === true && <span className="visually-hidden">Breakpoint. </span>}
          <span className="visually-hidden">Step </span>
          <b>{card.position}</b>
          {card.role !== "" && <em className="flow-role">{card.role}</em>}
          <span title={card.title}>{card.title}</span>
        </div>
        <div className="flow-meta">
          <WorkerChip worker={card.worker} insteadOf={card.insteadOf} />
          <span>{isWriting && card.meta === "" ? tail.rate : card.meta}</span>
        </div>
        {problem === undefined || isWriting || card.isUrgent ? (
          // What is being written is left out of the card's name, which would never come to rest.
          <p className={isWriting ? "flow-writing" : undefined} aria-hidden={isWriting}>
            {!isWriting ? card.text : isLong ? shortTail(tail.text, SHORT_TAIL) : tail.text}
          </p>
        ) : (
          <p className="flow-problem" title={card.problems.map((each) => each.message).join("\n")}>
            {problem.message}
          </p>
        )}
      </div>
      {card.nest !== null && (
        <FoldButton group={card.key} isOpen={false} about={`the run within step ${card.position}, ${card.nest.progress}`}>
          {card.nest.progress}
        </FoldButton>
      )}
      <Handle
        type="source"
        position={Position.Right}
        isConnectable={editable}
        className={editable || isRead ? "" : "flow-unused"}
        title={editable ? "Is read by: drag to a later step" : undefined}
      />
    </>
  );
});

const NEVER = (): (() => void) => () => undefined;

export function useTail(tails: Tails | null, stream: string | null): Tail {
  const get = useCallback(() => (tails === null ? NO_TAIL : tails.get(stream)), [tails, stream]);
  return useSyncExternalStore(tails?.watch ?? NEVER, get);
}

const NO_TAIL: Tail = { text: "", rate: "" };
