/* A recorded run, played from its own events: on a shared page, and in a file that is opened without any server. */
import "./canvas/flow.css";
import { Folds } from "./canvas/folds";
import { EMPTY, type GraphModel } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { graphOf, type View } from "./canvas/watching";
import type { Step } from "./live/state";
import { instantsOf, momentsOf, pathsIn, stepIn, type Instant, type Recorded } from "./replay/moments";
import { isEndOf, Page, saidOf } from "./replay/page";
import { Player } from "./replay/player";
import { Store } from "./store";
import { readJson, type Workers } from "./workers";

type Recording = { runs: Recorded; workers: Workers; costs: boolean };

function replay(host: HTMLElement, { runs, workers }: Recording): void {
  const moments = momentsOf(runs);
  const instants = instantsOf(moments);
  const paths = pathsIn(runs);
  const page = new Page(instants[0]?.at ?? 0);
  const model = new Store<GraphModel>(EMPTY);
  const folds = new Folds();
  const end = instants.findIndex(isEndOf);
  let isFollowing = false;

  const draw = (position: number): void => {
    const instant = instants[position];
    if (instant === undefined) return;
    const inside = (name: string): View | undefined => {
      const state = instant.inside.get(name);
      return state === undefined ? undefined : { state, draft: null };
    };
    model.change(graphOf({ state: instant.state, draft: null }, { workers, inside }));
    const steps = stepsOf(instant, paths);
    page.show(instant, steps, end >= 0 && position >= end);
    const moment = moments[position - 1];
    const key = moment === undefined ? null : stepIn(moment, paths);
    tell(position, instants.length - 1, saidOf(moment, steps, key), (instant.at - (instants[0]?.at ?? 0)) / 1000);
    if (isFollowing && key !== null) mark(key);
  };

  /** The step that is looked at, in the graph; its text is opened where somebody asked for it. */
  const mark = (step: string | null): void => model.change({ selection: { step, edge: null } });
  const open = (step: string | null): void => {
    mark(step);
    if (step !== null) folds.reveal(step, model.get());
    const place = step === null ? null : textOf(step);
    if (place === null) return;
    place.open = true;
    place.scrollIntoView({ block: "nearest", behavior: "auto" });
  };

  const player = new Player(
    instants.map(({ at }) => at),
    (position, isPlaying) => {
      isFollowing = isPlaying;
      draw(position);
      controls(position, isPlaying);
    },
  );
  draw(player.last);
  listen(player);
  for (const place of document.querySelectorAll<HTMLDetailsElement>("details.step")) {
    place.addEventListener("toggle", () => place.open && mark(place.dataset.key ?? null));
  }
  addEventListener("hashchange", () => open(keyIn(location.hash)));

  mountCanvas(host, {
    store: model,
    folds,
    actions: {
      selectStep: open,
      selectEdge: ({ reader }) => open(reader),
      showSink: () => document.getElementById("answer")?.focus(),
    },
  });
  if (keyIn(location.hash) !== null) open(keyIn(location.hash));
}

/** Every step as it was, those of nested runs under the way to them. */
function stepsOf({ state, inside }: Instant, paths: ReadonlyMap<string, string>): Map<string, Step> {
  const steps = new Map(state.steps.map((step) => [step.key, step]));
  for (const [name, nested] of inside) {
    for (const step of nested.steps) steps.set(`${paths.get(name) ?? name}/${step.key}`, step);
  }
  return steps;
}

const textOf = (step: string): HTMLDetailsElement | null =>
  document.querySelector<HTMLDetailsElement>(`details.step[data-key="${CSS.escape(step)}"]`);

const keyIn = (hash: string): string | null =>
  hash.startsWith("#step-") ? hash.slice("#step-".length).replaceAll(".", "/") : null;

// --- the controls -----------------------------------------------------------------------------------------------------

const scrub = (): HTMLInputElement | null => document.querySelector("#player [data-scrub]");
const button = (): HTMLButtonElement | null => document.querySelector("#player [data-play]");

function listen(player: Player): void {
  const form = document.getElementById("player") as HTMLFormElement | null;
  const range = scrub();
  if (form === null || range === null) return;
  form.hidden = false;
  range.max = String(player.last);
  range.value = String(player.position);
  range.addEventListener("input", () => player.go(Number(range.value)));
  button()?.addEventListener("click", () => player.toggle());
  form.querySelector<HTMLSelectElement>("[data-speed]")?.addEventListener("change", (event) => {
    player.speed = Number((event.target as HTMLSelectElement).value);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
}

function controls(position: number, isPlaying: boolean): void {
  const [range, play] = [scrub(), button()];
  if (range !== null) range.value = String(position);
  if (play !== null) play.textContent = isPlaying ? "Pause" : "Play";
}

function tell(position: number, last: number, said: string, after: number): void {
  const words = `${position} of ${last} · ${after.toFixed(1)} s · ${said}`;
  const place = document.querySelector("#player [data-moment]");
  if (place !== null) place.textContent = words;
  scrub()?.setAttribute("aria-valuetext", `Event ${words}`);
}

const host = document.getElementById("canvas");
const record = readJson<Recording>("record");
if (host !== null && record !== null) replay(host, record);
