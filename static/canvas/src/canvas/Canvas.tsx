/* The graph: cards, edges and groups from a model, at places that stay. What happens on it is told through `actions`. */
import {
  Background,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  useStoreApi,
  type Connection,
  type FinalConnectionState,
  type NodeChange,
} from "@xyflow/react";
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent as ReactMouseEvent,
  type ReactNode,
} from "react";
import type { Store } from "../store";
import { AccessEdge, CountEdge } from "./AccessEdge";
import { SharedContext } from "./context";
import { edgesOf, nodesOf, type Counted, type Drawn } from "./flow";
import type { Folds } from "./folds";
import { isInView, revealing } from "./geometry";
import { levelOf, seenCards } from "./level";
import { around, isRound, isSink, readablePast, type GraphModel } from "./model";
import { neighbour, type Direction } from "./neighbour";
import { NestFrame } from "./NestFrame";
import { NoteCard, RoundGroup } from "./RoundGroup";
import { SinkNode } from "./SinkNode";
import { StepCard } from "./StepCard";
import type { Tails } from "./tails";
import { useBoxes } from "./useBoxes";
import { calm, NARROWEST, Viewport } from "./Viewport";

export type Actions = {
  selectStep(key: string | null): void;
  selectEdge(edge: { source: string; reader: string }): void;
  /** Lead to where the page tells of the sink. */
  showSink(): void;
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
  folds: Folds;
  actions: Actions;
  tails?: Tails;
  /** The name under which this tab remembers what was moved. */
  memory?: string;
  /** Part of a longer page, which the wheel goes on scrolling. */
  inPage?: boolean;
  children?: ReactNode;
};

/** Nothing can be read from further away: cards are drawn as their states alone, which is quickly done. */
const FAR = 0.2;
/** Of more nodes than these only what is in view is in the page, or dragging the graph about would stutter. */
const MANY = 60;
/** The height of the tools that an editor puts over the graph. */
const TOOLS = 44;
const NODE_TYPES = { step: StepCard, nest: NestFrame, round: RoundGroup, note: NoteCard, sink: SinkNode };
const EDGE_TYPES = { access: AccessEdge, count: CountEdge };
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

function Flow({ store: models, folds, actions, tails, memory, inPage = false, children }: CanvasProps) {
  const model = useSyncExternalStore(models.watch, models.get);
  const turned = useSyncExternalStore(folds.watch, folds.get);
  const flow = useReactFlow();
  const store = useStoreApi();
  const isFar = useStore((state) => state.transform[2] < FAR);
  const { boxes, move } = useBoxes(levelOf(model, folds), memory ?? null);
  const [pointed, setPointed] = useState<string | null>(null);
  const isPersons = useRef(false);
  const isConnecting = useRef(false);
  const editing = actions.editing;
  const refocus = useRef<string | null>(null);

  const toggle = useCallback(
    (key: string): void => {
      refocus.current = key;
      folds.toggle(key);
    },
    [folds],
  );
  // What had the focus is gone with the fold: it goes to what has come in its place.
  useEffect(() => {
    if (refocus.current !== null) focusGroup(refocus.current);
    refocus.current = null;
  }, [turned]);

  const solid = useMemo(() => new Map([...boxes].filter(([key]) => !(isRound(key) && folds.isOpen(key)))), [boxes]);
  const shared = useMemo(
    () => ({
      model,
      boxes: solid,
      tails: tails ?? null,
      editable: editing !== undefined,
      past: pointed === null ? null : readablePast(seenCards(model, folds), pointed),
      toggle,
    }),
    [model, solid, tails, editing, pointed, toggle],
  );

  const nodes = useMemo(() => nodesOf(model, boxes, folds), [model, boxes]);
  const edges = useMemo(() => edgesOf(model, boxes, folds), [model, boxes]);

  const choose = (key: string): void => {
    if (isRound(key)) toggle(key);
    else if (isSink(key)) actions.showSink();
    else actions.selectStep(key);
  };

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
    if (hasModifier(event)) return;
    if (editing !== undefined && (event.key === "Delete" || event.key === "Backspace")) {
      if (key !== undefined && model.selection.edge === null) actions.selectStep(key);
      editing.remove();
    } else if (key !== undefined && (event.key === "Enter" || event.key === " ")) {
      choose(key);
    } else if (key !== undefined && event.key === "f") {
      const group = groupOf(key, model, folds);
      if (group !== null) toggle(group);
    } else if (key !== undefined && ARROWS[event.key] !== undefined) {
      goTo(neighbour(focusable(solid), key, ARROWS[event.key] as Direction));
    } else if (event.key === "Escape") {
      actions.selectStep(null);
    } else {
      return;
    }
    event.preventDefault();
  };

  /** A card that is reached by keyboard must be seen; one that is clicked is. */
  const onFocus = (event: FocusEvent<HTMLElement>): void => {
    if (event.target.matches(":focus-visible")) show(event.target.dataset.key ?? "", calm(200));
  };

  const show = (key: string, duration: number): void => {
    const box = boxes.get(key);
    if (box === undefined) return;
    const { width, height, transform } = store.getState();
    const view = { x: transform[0], y: transform[1], zoom: transform[2] };
    if (isInView(box, view, { width, height })) return;
    void flow.setViewport(revealing(box, view, { width, height }), { duration });
  };

  /** Of a large graph a card is not in the page before it is in view. */
  const goTo = (key: string | null): void => {
    if (key === null || focusCard(key)) return;
    show(key, 0);
    requestAnimationFrame(() => requestAnimationFrame(() => focusCard(key)));
  };

  return (
    <SharedContext value={shared}>
      <ReactFlow
        className={isFar ? "flow-far" : ""}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        onNodeClick={(event, node) => {
          if (!isOnButton(event) && node.type !== "note") choose(node.id);
        }}
        onEdgeClick={(event, edge) => {
          if (edge.type === "count") return actions.selectStep((edge.data as Counted).source);
          if (!(edge.data as Drawn).isWhole) return;
          // Keys that follow are meant for the edge, and only reach the canvas from inside it.
          event.currentTarget.closest<HTMLElement>(".react-flow")?.focus({ preventScroll: true });
          const { source, reader } = edge.data as Drawn;
          actions.selectEdge({ source, reader });
        }}
        onPaneClick={() => actions.selectStep(null)}
        onNodeMouseEnter={(_, node) => setPointed(isConnecting.current || node.type !== "step" ? null : node.id)}
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
        onlyRenderVisibleElements={nodes.length > MANY}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        panActivationKeyCode={null}
        nodeDragThreshold={4}
        connectionRadius={28}
        minZoom={NARROWEST}
        maxZoom={2}
        zoomOnDoubleClick={false}
        zoomOnScroll={!inPage}
        preventScrolling={!inPage}
        tabIndex={-1}
        aria-label="Graph of the steps. Arrow keys move between steps, Enter selects one, f folds and unfolds its group."
      >
        <Background gap={22} size={2} />
        <Viewport
          boxes={boxes}
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
  if (isRound(from) || isRound(to)) return;
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

const hasModifier = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey || event.altKey;

const isOnButton = (event: ReactMouseEvent): boolean => (event.target as Element).closest("a, button") !== null;

/** What is said in the place of steps is read, and nothing can be done with it. */
const focusable = (boxes: ReadonlyMap<string, { x: number; y: number }>): typeof boxes =>
  new Map([...boxes].filter(([key]) => !key.includes("note:")));

/** What `f` folds or unfolds at `key`: the round itself, the run in the step, else the run or the round around it. */
function groupOf(key: string, model: GraphModel, folds: Folds): string | null {
  if (isRound(key)) return key;
  if (seenCards(model, folds).some((card) => card.key === key && card.nest !== null)) return key;
  return around(key).at(-1) ?? model.rounds.find(({ members }) => members.includes(key))?.key ?? null;
}

/** Frames in which a card gives way to what has come in its place, which takes no focus before it is measured. */
const SETTLING = 20;

function focusGroup(key: string, frames = SETTLING): void {
  const name = CSS.escape(key);
  const group = document.querySelector<HTMLElement>(`#canvas [data-key="${name}"], #canvas [data-fold="${name}"]`);
  const isLost = document.activeElement === null || document.activeElement === document.body;
  if (frames === SETTLING || isLost) group?.focus({ preventScroll: true });
  else if (document.activeElement !== group) return; // the person has gone on
  if (frames > 0) requestAnimationFrame(() => focusGroup(key, frames - 1));
}

/** @returns whether it is in the page. */
function focusCard(key: string): boolean {
  const card = document.querySelector<HTMLElement>(`#canvas [data-key="${CSS.escape(key)}"]`);
  card?.focus({ preventScroll: true });
  return card !== null;
}
