/* The lines of the graph: an edge is exactly "may read", as wide as what passed; a count leads to the sink. */
import { EdgeLabelRenderer, type EdgeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { plural } from "../numbers";
import { SharedContext } from "./context";
import type { Counted, Drawn } from "./flow";
import type { Boxes } from "./geometry";
import { edgeWidth, isSameEdge, prefixOf, type Difference, type Edge, type Past } from "./model";
import { route } from "./route";

export const AccessEdge = memo(function AccessEdge(props: EdgeProps) {
  const { model, boxes, past } = useContext(SharedContext);
  const edge = props.data as Drawn;
  const isSelected = isSameEdge(model.selection.edge, edge);
  const { path, middle } = lineOf(props, boxes);

  return (
    <g
      className="flow-edge"
      data-carried={edge.tokens !== null || edge.isUncounted === true}
      data-hot={model.selection.edge === null ? model.selection.step === edge.reader : isSelected}
      data-selected={isSelected}
      data-problem={edge.problem !== null}
      data-difference={edge.difference}
      data-past={past === null ? undefined : nearness(edge, past)}
    >
      <path className="flow-line" d={path} style={{ strokeWidth: edgeWidth(edge.tokens) + (isSelected ? 1 : 0) }} />
      <path className="react-flow__edge-interaction" d={path} fill="none" strokeOpacity={0} strokeWidth={18}>
        <title>{describe(edge)}</title>
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

/** From a step to the sink that counts its result. */
export const CountEdge = memo(function CountEdge(props: EdgeProps) {
  const { boxes } = useContext(SharedContext);
  const { isTaken, what } = props.data as Counted;
  const { path } = lineOf(props, boxes);
  return (
    <g className="flow-edge" data-kind="count" data-taken={isTaken}>
      <path className="flow-line" d={path} />
      <path className="react-flow__edge-interaction" d={path} fill="none" strokeOpacity={0} strokeWidth={18}>
        <title>{what}</title>
      </path>
    </g>
  );
});

/** Round everything that stands between, as far as it belongs to the same run. */
function lineOf(props: EdgeProps, boxes: Boxes): ReturnType<typeof route> {
  const prefix = prefixOf(props.source);
  const between = [...boxes].filter(([key]) => prefixOf(key) === prefix && key !== props.source && key !== props.target);
  return route(
    { x: props.sourceX, y: props.sourceY },
    { x: props.targetX, y: props.targetY },
    between.map(([, box]) => box),
  );
}

const IN: Readonly<Partial<Record<Difference, string>>> = { "only-a": " · only in A", "only-b": " · only in B" };

function describe(edge: Drawn): string {
  const passed = edge.tokens === null ? "" : ` · ${plural(edge.tokens, "token")}`;
  return `${edge.what}${passed}${IN[edge.difference ?? "same"] ?? ""}`;
}
