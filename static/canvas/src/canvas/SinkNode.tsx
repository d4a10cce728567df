/* Where results are counted or weighed. No worker is asked, so it is drawn as another shape than a step. */
import { Handle, Position } from "@xyflow/react";
import { memo, useContext } from "react";
import { SharedContext } from "./context";
import type { SinkNodeData } from "./flow";
import { Dot } from "./parts";

const NAMES = { vote: "Vote", select: "Selection" } as const;

export const SinkNode = memo(function SinkNode({ data: { sink } }: { data: SinkNodeData }) {
  const { editable } = useContext(SharedContext);
  return (
    <>
      <Handle
        type="target"
        position={Position.Left}
        isConnectable={editable}
        title={editable ? "Counts: drag from a step to here" : undefined}
      />
      <div className="flow-card flow-sink" role="button" tabIndex={0} data-key={sink.key} data-state={sink.state}>
        <div className="flow-title">
          <Dot state={sink.state} />
          <span>{NAMES[sink.kind]}</span>
          {sink.meta !== "" && <small>{sink.meta}</small>}
        </div>
        {sink.rows.length === 0 ? (
          <p>{sink.text}</p>
        ) : (
          <ol>
            {sink.rows.map((row) => (
              <li key={row.label} data-taken={row.isTaken}>
                <span title={row.label}>{row.label}</span>
                {row.isTaken && <span className="visually-hidden">, taken</span>}
                <b>{row.share}</b>
              </li>
            ))}
          </ol>
        )}
      </div>
    </>
  );
});
