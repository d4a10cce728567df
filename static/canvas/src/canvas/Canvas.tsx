/* The graph: cards and edges from a model, at places that stay. What happens on it is told through `actions`. */
import {
  Background,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStoreApi,
  type Connection,
  type Edge as FlowEdge,
  type FinalConnectionState,
  type Node as FlowNode,
  type NodeChange,
} from "@xyflow/react";
import { useCallback, useMemo, useRef, useState, useSyncExternalStore, type FocusEvent, type KeyboardEvent, type ReactNode } from "react";
import type { Store } from "../store";
import { AccessEdge } from "./AccessEdge";
import { SharedContext } from "./context";
import { HEIGHT, isInView, revealing, WIDTH } from "./geometry";
import { edgeId, readablePast, type Edge, type GraphModel } from "./model";
import { neighbour, type Direction } from "./neighbour";
import { StepCard, type StepNodeData } from "./StepCard";
import type { Tails } from "./tails";
import { usePlaces } from "./usePlaces";
import { calm, Viewport } from "./Viewport";

export type Actions = {
  selectStep(key: string | null): void;
  selectEdge(edge: { source: string; reader: string }): void;
  /** Only where the graph can be edited. */
  editing?: {
    canRead(reader: string, source: string): boolean;
    allow(reader: string, source: string): void;
    refuse(reader: string, source: string): void;
    remove(): void;
  };
};

export type CanvasProps = {
  store: Store<GraphModel>;
  actions: Actions;
  tails?: Tails;
  /** The name under which this tab remembers what was moved. */
  memory?: string;
  children?: ReactNode;
};

/** The height of the tools that an editor puts over the graph. */
const TOOLS = 44;
const NODE_TYPES = { step: StepCard };
const EDGE_TYPES = { access: AccessEdge };
const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

export function Canvas(props: CanvasProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ store: models, actions, tails, memory, children }: CanvasProps) {
  const model = useSyncExternalStore(models.watch, models.get);
  const flow = useReactFlow();
  const store = useStoreApi();
  const { places, move } = usePlaces(model.cards, memory ?? null);
  const [pointed, setPointed] = useState<string | null>(null);
  const isPersons = useRef(false);
  const isConnecting = useRef(false);
  const editing = actions.editing;

  const shared = useMemo(
    () => ({
      model,
      places,
      tails: tails ?? null,
      editable: editing !== undefined,
      past: pointed === null ? null : readablePast(model.cards, pointed),
    }),
    [model, places, tails, editing, pointed],
  );

  const nodes = useMemo(() => nodesOf(model, places), [model, places]);
  const edges = useMemo(() => edgesOf(model), [model]);

  const onNodesChange = useCallback(
    (changes: NodeChange[]) => {
      for (const change of changes) {
        if (change.type === "position" && change.position) move(change.id, change.position, change.dragging !== true);
      }
    },
    [move],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    const key = (event.target as Element).closest<HTMLElement>("[data-key]")?.dataset.key;
    if (editing !== undefined && (event.key === "Delete" || event.key === "Backspace")) {
      if (key !== undefined && model.selection.edge === null) actions.selectStep(key);
      editing.remove();
    } else if (key !== undefined && (event.key === "Enter" || event.key === " ")) {
      actions.selectStep(key);
    } else if (key !== undefined && ARROWS[event.key] !== undefined) {
      focusCard(neighbour(places, key, ARROWS[event.key] as Direction));
    } else if (event.key === "Escape") {
      actions.selectStep(null);
    } else {
      return;
    }
    event.preventDefault();
  };

  /** A card that is reached by keyboard must be seen; one that is clicked is. */
  const onFocus = (event: FocusEvent<HTMLElement>): void => {
    const at = event.target.matches(":focus-visible") ? places.get(event.target.dataset.key ?? "") : undefined;
    if (at === undefined) return;
    const { width, height, transform } = store.getState();
    const view = { x: transform[0], y: transform[1], zoom: transform[2] };
    const box = { ...at, width: WIDTH, height: HEIGHT };
    if (isInView(box, view, { width, height })) return;
    void flow.setViewport(revealing(box, view, { width, height }), { duration: calm(200) });
  };

  return (
    <SharedContext value={shared}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        onNodeClick={(_, node) => actions.selectStep(node.id)}
        onEdgeClick={(event, edge) => {
          // Keys that follow are meant for the edge, and only reach the canvas from inside it.
          event.currentTarget.closest<HTMLElement>(".react-flow")?.focus({ preventScroll: true });
          actions.selectEdge(edge.data as Edge);
        }}
        onPaneClick={() => actions.selectStep(null)}
        onNodeMouseEnter={(_, node) => setPointed(isConnecting.current ? null : node.id)}
        onNodeMouseLeave={() => setPointed(null)}
        onNodeDragStart={() => setPointed(null)}
        onMoveStart={(event) => {
          if (event !== null) isPersons.current = true;
        }}
        onKeyDown={onKeyDown}
        onFocus={onFocus}
        {...(editing === undefined ? {} : connecting(editing))}
        onConnectStart={() => {
          isConnecting.current = true;
          setPointed(null);
        }}
        onConnectEnd={(event, end) => {
          isConnecting.current = false;
          if (editing !== undefined) dropped(editing, event, end);
        }}
        nodesConnectable={editing !== undefined}
        elementsSelectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        panActivationKeyCode={null}
        nodeDragThreshold={4}
        connectionRadius={28}
        minZoom={0.25}
        maxZoom={2}
        zoomOnDoubleClick={false}
        tabIndex={-1}
        aria-label="Graph of the steps. Arrow keys move between steps, Enter selects one."
      >
        <Background gap={22} size={2} />
        <Viewport
          places={places}
          growing={model.cards.some((card) => card.state === "draft")}
          isPersons={isPersons}
          head={editing === undefined ? 0 : TOOLS}
        />
        {children}
      </ReactFlow>
    </SharedContext>
  );
}

function connecting(editing: NonNullable<Actions["editing"]>) {
  return {
    isValidConnection: ({ source, target }: { source: string; target: string }) => editing.canRead(target, source),
    onConnect: ({ source, target }: Connection) => editing.allow(target, source),
  };
}

/** A line let go on a card, not just on its handle, means that card; where it may not go, that is said. */
function dropped(editing: NonNullable<Actions["editing"]>, event: MouseEvent | TouchEvent, end: FinalConnectionState): void {
  const from = end.fromNode?.id;
  const to = end.toNode?.id ?? cardAt(event);
  if (end.isValid === true || from === undefined || to === undefined || from === to) return;
  const [source, reader] = end.fromHandle?.type === "source" ? [from, to] : [to, from];
  if (editing.canRead(reader, source)) editing.allow(reader, source);
  else editing.refuse(reader, source);
}

function cardAt(event: MouseEvent | TouchEvent): string | undefined {
  const point = "changedTouches" in event ? event.changedTouches[0] : event;
  if (point === undefined) return undefined;
  const element = document.elementFromPoint(point.clientX, point.clientY);
  return element?.closest<HTMLElement>(".react-flow__node")?.dataset.id;
}

function nodesOf(model: GraphModel, places: ReadonlyMap<string, { x: number; y: number }>): FlowNode[] {
  const read = new Set(model.edges.map((edge) => edge.source));
  return model.cards.map((card) => ({
    id: card.key,
    type: "step",
    position: places.get(card.key) ?? { x: 0, y: 0 },
    width: WIDTH,
    height: HEIGHT,
    measured: { width: WIDTH, height: HEIGHT },
    data: { card, isRead: read.has(card.key) } satisfies StepNodeData,
  }));
}

function edgesOf(model: GraphModel): FlowEdge[] {
  const keys = new Set(model.cards.map((card) => card.key));
  return model.edges
    .filter((edge) => keys.has(edge.source) && keys.has(edge.reader))
    .map((edge) => ({ id: edgeId(edge), type: "access", source: edge.source, target: edge.reader, data: edge }));
}

function focusCard(key: string | null): void {
  if (key === null) return;
  document.querySelector<HTMLElement>(`#canvas [data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
