/* An edge: exactly "may read". Its width is what passed along it. */
import { EdgeLabelRenderer, type EdgeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { plural } from "../numbers";
import { SharedContext } from "./context";
import { edgeWidth, isSameEdge, type Edge, type Past } from "./model";
import { route } from "./route";

export const AccessEdge = memo(function AccessEdge(props: EdgeProps) {
  const { model, places, past } = useContext(SharedContext);
  const edge = props.data as Edge;
  const isSelected = isSameEdge(model.selection.edge, edge);
  const cards = [...places].filter(([key]) => key !== edge.source && key !== edge.reader).map(([, place]) => place);
  const { path, middle } = route(
    { x: props.sourceX, y: props.sourceY },
    { x: props.targetX, y: props.targetY },
    cards,
  );

  return (
    <g
      className="flow-edge"
      data-carried={edge.tokens !== null}
      data-hot={model.selection.edge === null ? model.selection.step === edge.reader : isSelected}
      data-selected={isSelected}
      data-problem={edge.problem !== null}
      data-past={past === null ? undefined : nearness(edge, past)}
    >
      <path className="flow-line" d={path} style={{ strokeWidth: edgeWidth(edge.tokens) + (isSelected ? 1 : 0) }} />
      <path className="react-flow__edge-interaction" d={path} fill="none" strokeOpacity={0} strokeWidth={18}>
        <title>{describe(edge, model.cards)}</title>
      </path>
      {edge.problem !== null && (
        <EdgeLabelRenderer>
          <div
            className="flow-edge-problem"
            style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}
          >
            <span title={edge.problem}>!</span>
          </div>
        </EdgeLabelRenderer>
      )}
    </g>
  );
});

/** 1 for what the step under the pointer reads itself, 2 for what shaped that. */
function nearness(edge: Edge, past: Past): 1 | 2 | "none" {
  if (past.get(edge.reader) === 0) return 1;
  return past.has(edge.reader) && past.has(edge.source) ? 2 : "none";
}

function describe(edge: Edge, cards: readonly { key: string; position: number }[]): string {
  const number = (key: string): number => cards.find((card) => card.key === key)?.position ?? 0;
  const what = `Step ${number(edge.reader)} may read step ${number(edge.source)}`;
  return edge.tokens === null ? what : `${what} · ${plural(edge.tokens, "token")}`;
}
