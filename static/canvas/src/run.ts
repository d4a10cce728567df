/* The run page: facts come over the socket, HTML is fetched, and one selection joins outline, canvas and panel. */
import "./canvas/flow.css";
import { countsOf, graphOfDraft, graphOfRun } from "./canvas/watching";
import { EMPTY, type GraphModel } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { Tails } from "./canvas/tails";
import { drafted } from "./draft";
import type { Frame, RunEvent } from "./live/events";
import { Session } from "./live/session";
import { LiveSocket, socketUrl, type Line } from "./live/socket";
import { isOver, type RunState } from "./live/state";
import { Announcer, sentences } from "./page/announce";
import { Clock } from "./page/clock";
import { showFirstTokens } from "./page/firstToken";
import { Follow } from "./page/follow";
import { afterSettle, htmx } from "./page/htmx";
import { showLine } from "./page/line";
import { Panel } from "./page/panel";
import { staleParts, type Part } from "./page/parts";
import { coalesced } from "./page/refresh";
import { keepInUrl, markOutline, selectByClick, selectByKeys, selectionIn } from "./page/selection";
import { Texts } from "./page/texts";
import { Store } from "./store";
import { readJson, readWorkers } from "./workers";

/** A call that was under way when the run ended may still bill: its event is waited for this long. */
const LINGER_MS = 30_000;

function watch(host: HTMLElement): void {
  const workers = readWorkers();
  const renderedAt = Number(host.dataset.seq ?? 0);
  const first = selectionIn(location.href);
  const selected = new Store<string | null>(first.step);
  const model = new Store<GraphModel>({ ...EMPTY, selection: first });
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
  const session = new Session(socket);
  const texts = new Texts(session.streams, new Follow());
  const tails = new Tails(session.streams);
  const refresh: Record<Part, () => void> = {
    head: coalesced(() => refetch("head")),
    outline: coalesced(() => refetch("outline")),
    answer: coalesced(() => refetch("answer")),
    panel: coalesced(() => panel.refresh(selected.get())),
  };

  const tellLine = (): void =>
    showLine(line === "live" && isOver(session.state.status) ? "ended" : line, session.state.seq);

  const draw = (): void => {
    const { state, draft } = session;
    const graph =
      state.steps.length > 0 || draft === null
        ? graphOfRun(state, workers)
        : graphOfDraft(drafted(draft.steps), workers);
    model.change(graph);
    for (const place of document.querySelectorAll("[data-counts]")) place.textContent = countsOf(graph);
  };

  const settle = (): void => {
    texts.find();
    markOutline(selected.get());
    panel.settle();
    showFirstTokens(session.begunAt);
    if (isOver(session.state.status)) clock.stop();
    else clock.find();
  };

  session.listen({
    onEvents: (events, before, after) => {
      draw();
      tellLine();
      for (const stream of closedBy(events)) texts.close(stream);
      const news = events.filter((event) => event.seq > renderedAt);
      if (news.length === 0) return finish(after);
      for (const part of staleParts(news, before, after, selected.get())) refresh[part]();
      if (before.seq > 0) announcer.say(...sentences(news, after));
      finish(after);
    },
    onText: (stream) => {
      texts.grew(stream);
      tails.grew(stream);
      showFirstTokens(session.begunAt);
    },
    onDraft: draw,
  });

  const finish = (state: RunState): void => {
    if (!isOver(state.status)) return;
    clock.stop();
    linger ??= setTimeout(() => socket.end(), LINGER_MS);
  };

  const select = (step: string | null): void => {
    model.change({ selection: { step, edge: null } });
    if (selected.get() === step) keepInUrl(model.get().selection);
    else selected.set(step);
  };

  selected.watch(() => {
    const step = selected.get();
    markOutline(step);
    if (model.get().selection.step !== step) model.change({ selection: { step, edge: null } });
    keepInUrl(model.get().selection);
    if (model.get().selection.edge === null && session.draft === null) panel.show(step);
  });

  host.addEventListener("studio:edge", (event) => {
    const edge = (event as CustomEvent<{ source: string; reader: string }>).detail;
    model.change({ selection: { step: edge.reader, edge } });
    selected.set(edge.reader);
    keepInUrl(model.get().selection);
    panel.showEdge(edge);
  });

  selectByClick(select);
  selectByKeys(() => model.get().cards.map((card) => card.key), selected);
  afterSettle(settle);

  mountCanvas(host, {
    store: model,
    tails,
    memory: `canvas ${host.dataset.code ?? ""}`,
    actions: {
      selectStep: select,
      selectEdge: (edge) => host.dispatchEvent(new CustomEvent("studio:edge", { bubbles: true, detail: edge })),
    },
  });

  const past = readJson<Extract<Frame, { t: "events" }>>("events");
  if (past !== null) session.take(past);
  settle();
  tellLine();
  socket.start();
}

function refetch(part: Part): void {
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
