/* The run page: facts come over the socket, HTML is fetched, and one selection joins outline, canvas and panel. */
import "./canvas/flow.css";
import { Folds } from "./canvas/folds";
import { seenCards } from "./canvas/level";
import { EMPTY, type GraphModel } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { Tails } from "./canvas/tails";
import { countsOf, graphOf, type View } from "./canvas/watching";
import type { Frame, RunEvent } from "./live/events";
import { Nests, type Nested } from "./live/nests";
import { Session } from "./live/session";
import { LiveSocket, socketUrl, type Line } from "./live/socket";
import { isOver, type RunState } from "./live/state";
import { Streams } from "./live/streams";
import { Announcer, sentences, within } from "./page/announce";
import { Clock } from "./page/clock";
import { showFirstTokens } from "./page/firstToken";
import { Follow } from "./page/follow";
import { gridKeys } from "./page/grid";
import { foldOutline } from "./page/groups";
import { afterSettle, htmx } from "./page/htmx";
import { showLine, showReplay } from "./page/line";
import { breakByKey, Panel } from "./page/panel";
import { staleParts, type Part } from "./page/parts";
import { coalesced } from "./page/refresh";
import { keepInUrl, markOutline, selectByClick, selectByKeys, selectionIn } from "./page/selection";
import { Texts } from "./page/texts";
import { aimTabs, keepView, markEdge, selectEdgeByClick } from "./page/views";
import { Scrub } from "./scrub/scrub";
import { Store } from "./store";
import { readJson, readWorkers } from "./workers";

/** A call that was under way when the run ended may still bill: its event is waited for this long. */
const LINGER_MS = 30_000;
/** What is drawn along a line of time grows with it. */
const GROWS_MS = 1_000;

function watch(host: HTMLElement): void {
  const workers = readWorkers();
  const renderedAt = Number(host.dataset.seq ?? 0);
  const first = selectionIn(location.href);
  const selected = new Store<string | null>(first.step);
  const model = new Store<GraphModel>({ ...EMPTY, selection: first });
  const folds = new Folds(`folds ${host.dataset.code ?? ""}`);
  const announcer = new Announcer(document.getElementById("announce"));
  const panel = new Panel(host.dataset.code ?? "");
  const clock = new Clock();
  let line: Line = "connecting";
  let linger: ReturnType<typeof setTimeout> | undefined;

  const socket = new LiveSocket({
    url: socketUrl(host.dataset.socket ?? "", location),
    cursor: () => session.state.seq,
    onFrame: (frame) => session.take(frame),
    onLine: (now) => {
      line = now;
      tellLine();
    },
  });
  const streams = new Streams();
  const session = new Session(socket, streams);
  const texts = new Texts(streams, new Follow());
  const tails = new Tails(streams);
  const grew = (stream: string): void => {
    texts.grew(stream);
    tails.grew(stream);
    showFirstTokens(begunAt);
  };
  const nests = new Nests({
    streams,
    open: (code, nested) =>
      new LiveSocket({
        url: socketUrl(`/ws/runs/${encodeURIComponent(code)}/`, location),
        cursor: () => nested().state.seq,
        onFrame: (frame) => nested().take(frame),
        onLine: () => undefined,
      }),
    onEvents: (nested, events, before, after) => tellNested(nested, events, before, after),
    onText: grew,
    onDraft: () => draw(),
  });
  const begunAt = (stream: string): number | undefined =>
    session.begunAt(stream) ?? nests.all().map((nested) => nested.session.begunAt(stream)).find((at) => at !== undefined);
  const isGraph = !host.hidden;
  const scrub = new Scrub({
    code: host.dataset.code ?? "",
    bar: document.getElementById("scrub"),
    tails,
    selected: () => selected.get(),
    redraw: () => draw(),
    told: () => tellLine(),
    refresh: () => {
      for (const part of ["head", "outline"] as const) refresh[part]();
      tellLine();
    },
  });
  const refreshView = coalesced(() => refetch("view"));
  const refresh: Record<Part, () => void> = {
    head: coalesced(() => refetch("head")),
    outline: coalesced(() => refetch("outline")),
    answer: coalesced(() => refetch("answer")),
    panel: coalesced(() => panel.refresh(selected.get())),
  };

  const tellLine = (): void =>
    scrub.says === null
      ? showLine(line === "live" && isOver(session.state.status) ? "ended" : line, session.state.seq)
      : showReplay(scrub.says);

  const draw = (): void => {
    const inside = (code: string): View | undefined => scrub.inside(code, nests.get(code));
    const graph = graphOf(scrub.view(session), { workers, inside });
    model.change(graph);
    for (const place of document.querySelectorAll("[data-counts]")) place.textContent = countsOf(graph);
  };

  const settle = (): void => {
    texts.find();
    foldGroups();
    markOutline(selected.get());
    markEdge(model.get().selection.edge);
    stopGrids();
    aimTabs();
    panel.settle();
    scrub.settle();
    showFirstTokens(begunAt);
    if (isOver(session.state.status)) clock.stop();
    else clock.find();
  };

  session.listen({
    onEvents: (events, before, after) => {
      scrub.add(events);
      nests.follow(after);
      draw();
      tellLine();
      for (const stream of closedBy(events)) texts.close(stream);
      const news = events.filter((event) => event.seq > renderedAt);
      if (news.length === 0) return finish(after);
      for (const part of staleParts(news, before, after, selected.get())) refresh[part]();
      refreshView();
      if (before.seq > 0) announcer.say(...sentences(news, after, before));
      finish(after);
    },
    onText: grew,
    onDraft: draw,
  });

  /** What happens in a nested run is told where it is shown: in the graph, in the outline, and of a step that is open. */
  const tellNested = (nested: Nested, events: readonly RunEvent[], before: RunState, after: RunState): void => {
    scrub.add(events, nested.code);
    draw();
    for (const stream of closedBy(events)) texts.close(stream);
    if (before.seq === 0) return; // what was before is in the page already
    if (before.steps !== after.steps || before.status !== after.status) refresh.outline();
    refreshView();
    const step = selected.get();
    const inner = step?.startsWith(`${nested.path}/`) ? step.slice(nested.path.length + 1) : null;
    const isShown = step === nested.path ? before.steps !== after.steps : inner !== null;
    if (isShown && staleParts(events, before, after, inner).has("panel")) refresh.panel();
    if (folds.isOpen(nested.path)) announcer.say(...within(nested.path, sentences(events, after, before), session.state));
  };

  const finish = (state: RunState): void => {
    if (!isOver(state.status)) return;
    clock.stop();
    clearInterval(growing);
    linger ??= setTimeout(() => socket.end(), LINGER_MS);
  };

  /** The server knows nothing yet of a step that is still being written. */
  const isDrafted = (step: string | null): boolean =>
    session.draft !== null && model.get().cards.some((card) => card.key === step && card.state === "draft");

  const select = (step: string | null): void => {
    if (step !== null) folds.reveal(step, model.get());
    model.change({ selection: { step, edge: null } });
    if (selected.get() === step) keepInUrl(model.get().selection);
    else selected.set(step);
    markEdge(null);
    aimTabs();
  };

  selected.watch(() => {
    const step = selected.get();
    markOutline(step);
    if (model.get().selection.step !== step) model.change({ selection: { step, edge: null } });
    keepInUrl(model.get().selection);
    aimTabs();
    scrub.settle();
    if (model.get().selection.edge === null && !isDrafted(step)) panel.show(step);
  });

  const selectEdge = (edge: { source: string; reader: string }): void => {
    model.change({ selection: { step: edge.reader, edge } });
    selected.set(edge.reader);
    keepInUrl(model.get().selection);
    markEdge(edge);
    aimTabs();
    panel.showEdge(edge);
  };

  selectByClick(select);
  breakByKey();
  selectByKeys(() => seenCards(model.get(), folds).map((card) => card.key), selected);
  selectEdgeByClick(selectEdge);
  const stopGrids = gridKeys();
  keepView();
  const foldGroups = foldOutline(folds);
  afterSettle(settle);

  const growing = isGraph ? undefined : setInterval(refreshView, GROWS_MS);
  if (isGraph) {
    mountCanvas(host, {
      store: model,
      folds,
      tails,
      memory: `canvas ${host.dataset.code ?? ""}`,
      actions: { selectStep: select, selectEdge, showSink: () => document.getElementById("answer")?.focus() },
    });
  }

  const past = readJson<Extract<Frame, { t: "events" }>>("events");
  if (past !== null) session.take(past);
  if (first.step !== null) folds.reveal(first.step, model.get());
  settle();
  tellLine();
  scrub.begin(location.href);
  aimTabs();
  socket.start();
}

function refetch(part: Part | "view"): void {
  const element = document.getElementById(part);
  if (element !== null) htmx()?.trigger(element, "studio:refresh");
}

/** The streams to which nothing will be added after `events`. */
function closedBy(events: readonly RunEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.verb.startsWith("planning.") && event.verb !== "planning.started" && "proposal" in event.data) {
      return `p${event.data.proposal}`;
    }
    const isAttempts = event.verb.startsWith("attempt.") || /^step\.(?:succeeded|failed)$/.test(event.verb);
    return isAttempts && "attempt" in event.data && event.data.attempt !== null ? `a${event.data.attempt}` : [];
  });
}

const host = document.getElementById("canvas");
if (host !== null) watch(host);
