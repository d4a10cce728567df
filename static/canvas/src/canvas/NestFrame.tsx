/* The run that a step became, unfolded: a frame around its steps, with the step itself for a head. */
import { Handle, Position } from "@xyflow/react";
import { memo, useContext } from "react";
import { SharedContext } from "./context";
import type { StepNodeData } from "./flow";
import { Dot, FoldButton } from "./parts";

export const NestFrame = memo(function NestFrame({ data }: { data: StepNodeData }) {
  const { card, isRead } = data;
  const { model } = useContext(SharedContext);
  const nest = card.nest;
  if (nest === null) return null;
  return (
    <>
      <Handle
        type="target"
        position={Position.Left}
        isConnectable={false}
        className={(card.access ?? []).length > 0 ? "" : "flow-unused"}
      />
      <div className="flow-frame" data-kind="nest" data-state={card.state}>
        <header>
          <FoldButton group={card.key} isOpen about={`the run within step ${card.position}`} />
          <div
            className="flow-head"
            role="button"
            tabIndex={0}
            aria-pressed={model.selection.step === card.key}
            data-key={card.key}
          >
            <Dot state={card.state} />
            <span className="visually-hidden">Step </span>
            <b>{card.position}</b>
            {card.role !== "" && <em className="flow-role">{card.role}</em>}
            <span title={card.title}>{card.title}</span>
          </div>
          <span className="flow-progress">{nest.progress}</span>
          <a className="nodrag" href={`/runs/${encodeURIComponent(nest.code)}/`}>
            run {nest.code}
          </a>
        </header>
      </div>
      <Handle
        type="source"
        position={Position.Right}
        isConnectable={false}
        className={isRead ? "" : "flow-unused"}
      />
    </>
  );
});
