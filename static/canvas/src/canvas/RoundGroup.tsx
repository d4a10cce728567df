/* The steps of one round: a frame around them, or, folded, one card in their place. */
import { Handle, Position } from "@xyflow/react";
import { memo, useContext } from "react";
import { SharedContext } from "./context";
import type { NoteNodeData, RoundNodeData } from "./flow";
import type { Round } from "./model";
import { Dot, FoldButton } from "./parts";
import { useTail } from "./StepCard";

export const RoundGroup = memo(function RoundGroup({ data }: { data: RoundNodeData }) {
  return data.isOpen ? <RoundFrame round={data.round} /> : <RoundCard round={data.round} />;
});

function RoundFrame({ round }: { round: Round }) {
  return (
    <div className="flow-frame" data-kind="round" data-verdict={round.verdict}>
      <header>
        <FoldButton group={round.key} isOpen about={`round ${round.number}`}>
          Round {round.number}
        </FoldButton>
        <Verdict round={round} />
      </header>
    </div>
  );
}

function RoundCard({ round }: { round: Round }) {
  return (
    <>
      <Handle type="target" position={Position.Left} isConnectable={false} className="flow-unused" />
      <div className="flow-card flow-folded" role="button" tabIndex={0} aria-expanded={false} data-key={round.key} data-state={round.state}>
        <div className="flow-title">
          <Dot state={round.state} />
          <span>Round {round.number}</span>
          <Verdict round={round} />
        </div>
        <p>{round.progress}</p>
        <p className="flow-hint">Folded: Enter or a click unfolds it.</p>
      </div>
      <Handle type="source" position={Position.Right} isConnectable={false} className="flow-unused" />
    </>
  );
}

function Verdict({ round }: { round: Round }) {
  return round.verdict === "" ? null : <span className="flow-verdict" data-verdict={round.verdict}>{round.verdict}</span>;
}

/** What is said in the place of steps. Nothing can be done with it, so it is no button. */
export const NoteCard = memo(function NoteCard({ data: { note } }: { data: NoteNodeData }) {
  const { tails } = useContext(SharedContext);
  const tail = useTail(tails, note.stream);
  const isWriting = tail.text !== "";
  return (
    <div className="flow-card flow-note" data-state={note.state}>
      <div className="flow-title">
        <Dot state={note.state} />
        <span>{note.title}</span>
      </div>
      <p className={isWriting ? "flow-writing" : undefined} aria-hidden={isWriting}>
        {isWriting ? tail.text : note.text}
      </p>
    </div>
  );
});
