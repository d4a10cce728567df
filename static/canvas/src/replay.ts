/* A recorded run, played from its own events: on a shared page, and in a file that is opened without any server. */
import "./canvas/flow.css";
import { Folds } from "./canvas/folds";
import { EMPTY, type GraphModel } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { Tails } from "./canvas/tails";
import { graphOf, type View } from "./canvas/watching";
import { Streams } from "./live/streams";
import { Page } from "./replay/page";
import { fromFile, Recorded, stepsIn, type Recording } from "./replay/recorded";
import { ScrubBar, type Moment } from "./scrub/bar";
import { Tracks } from "./scrub/tracks";
import { Store } from "./store";
import { readJson } from "./workers";

function replay(host: HTMLElement, recording: Recording): void {
  const { runs, workers } = recording;
  const recorded = new Recorded(runs);
  const { history } = recorded;
  const page = new Page(history.time(1));
  const model = new Store<GraphModel>(EMPTY);
  const folds = new Folds();
  const tails = new Tails(new Streams());
  const tracks = new Tracks(fromFile(recording), () => show());
  let moment: Moment | null = null;
  let isDue = false;

  const draw = (): void => {
    const then = recorded.at(moment?.position ?? history.length);
    const inside = (name: string): View | undefined => {
      const state = then.inside.get(name);
      return state === undefined ? undefined : { state, draft: null };
    };
    const heard = (stream: string): string => (moment === null ? "" : tracks.text(stream, moment.time));
    tails.show(moment === null ? null : heard);
    model.change(graphOf({ state: then.state, draft: null }, { workers, inside }));
    if (moment === null) page.end();
    else page.show(then, stepsIn(then), heard);
  };

  /** At most once a frame, however fast the bar is dragged. */
  const show = (): void => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };

  const mark = (step: string | null): void => model.change({ selection: { step, edge: null } });
  const open = (step: string | null): void => {
    mark(step);
    if (step === null) return;
    folds.reveal(step, model.get());
    const place = document.querySelector<HTMLDetailsElement>(`details.step[data-key="${CSS.escape(step)}"]`);
    if (place === null) return;
    place.open = true;
    place.scrollIntoView({ block: "nearest" });
  };

  const bar = document.getElementById("scrub");
  if (bar !== null) {
    const onMoment = (at: Moment | null): void => {
      moment = at;
      show();
    };
    new ScrubBar(bar, { history, onMoment, onRest: () => undefined }).grew();
  }
  for (const name of Object.keys(runs)) void tracks.load(name);
  for (const place of document.querySelectorAll<HTMLDetailsElement>("details.step")) {
    place.addEventListener("toggle", () => place.open && mark(place.dataset.key ?? null));
  }
  addEventListener("hashchange", () => open(keyIn(location.hash)));

  draw();
  mountCanvas(host, {
    store: model,
    folds,
    tails,
    actions: {
      selectStep: open,
      selectEdge: ({ reader }) => open(reader),
      showSink: () => document.getElementById("answer")?.focus(),
    },
  });
  if (keyIn(location.hash) !== null) open(keyIn(location.hash));
}

/** The step that `#step-s2.s1` names: "s2/s1". */
const keyIn = (hash: string): string | null =>
  hash.startsWith("#step-") ? hash.slice("#step-".length).replaceAll(".", "/") : null;

const host = document.getElementById("canvas");
const recording = readJson<Recording>("record");
if (host !== null && recording !== null) replay(host, recording);
