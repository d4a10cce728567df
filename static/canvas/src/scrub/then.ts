/*
 * The parts of the page that the server wrote, as they were at an earlier moment: head, outline, answer and panel.
 *
 * Only what tells of a state is written over; back in the present all of it is fetched again.
 */
import { isOver, stepOf, type RunState, type Step } from "../live/state";
import { count, plural, seconds, usd } from "../numbers";
import { title } from "../title";

/** A run at one moment, and those nested in it. */
export type Then = {
  state: RunState;
  /** Since the run was submitted. */
  goneMs: number;
  says: string;
  inside(code: string): RunState | undefined;
  /** What a stream said by then. */
  text(stream: string): string;
};

const STATUS: Readonly<Record<RunState["status"], string>> = {
  queued: "Queued",
  planning: "Planning",
  held: "Held",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Stopped",
};
const STEP: Readonly<Record<Step["status"], string>> = {
  waiting: "waiting",
  running: "running",
  succeeded: "done",
  reused: "reused",
  written: "written by a person",
  failed: "failed",
  skipped: "skipped",
  cancelled: "not finished",
};

/** Write the state of `then` over what the page says now. */
export function showThen(then: Then, selected: string | null): void {
  document.body.dataset.then = then.state.status;
  showHead(then);
  showOutline(then);
  showPanel(then, selected);
}

/** Let the page be what it is again; what was written over must be fetched. */
export function leaveThen(): void {
  delete document.body.dataset.then;
  const [now, then] = panels();
  if (now !== null) now.hidden = false;
  if (then !== null) then.hidden = true;
}

// --- head and outline ------------------------------------------------------------------------------------------------

function showHead({ state, goneMs }: Then): void {
  const pill = document.querySelector<HTMLElement>("#head .pill");
  if (pill !== null) {
    pill.dataset.state = state.status;
    pill.replaceChildren(dot(state.status), STATUS[state.status]);
  }
  const facts: Readonly<Record<string, string>> = {
    Elapsed: seconds(goneMs),
    Tokens: count(state.tokens),
    Spent: spentIn(state),
  };
  for (const fact of document.querySelectorAll("#head .facts > div")) {
    const said = facts[fact.querySelector("dt")?.textContent ?? ""];
    const place = fact.querySelector("dd");
    if (said === undefined || place === null) continue;
    place.removeAttribute("data-elapsed"); // no clock ticks in the past
    if (place.textContent !== said) place.textContent = said;
  }
  for (const [index, mark] of document.querySelectorAll<HTMLElement>("#head .strip span").entries()) {
    mark.dataset.state = state.steps[index]?.status ?? "waiting";
  }
}

function spentIn(state: RunState): string {
  if (state.unpriced) return state.costUsd > 0 ? `${usd(state.costUsd)} and calls of unknown price` : "price unknown";
  if (state.costUsd > 0) return usd(state.costUsd);
  return state.tokens > 0 ? "free of charge" : "nothing yet";
}

function showOutline(then: Then): void {
  for (const item of document.querySelectorAll<HTMLElement>("#outline [data-step]")) {
    const step = stepAt(item.dataset.step ?? "", then);
    item.dataset.then = step?.status ?? "none";
    const mark = item.querySelector<HTMLElement>(".dot");
    if (mark !== null) mark.dataset.state = step?.status ?? "waiting";
    const note = item.querySelector(".sub > .clip:last-child");
    if (note !== null) note.textContent = step === undefined ? "not planned yet" : noteOf(step);
  }
}

function noteOf(step: Step): string {
  if (step.status === "succeeded" && step.durationMs !== null) {
    return step.costUsd === null ? seconds(step.durationMs) : `${seconds(step.durationMs)} · ${usd(step.costUsd)}`;
  }
  if (step.waiting !== "") return step.waiting;
  return step.status === "running" && step.attempts.length > 1 ? `attempt ${step.attempts.length}` : STEP[step.status];
}

/** The step that a path leads to, through the runs that the steps on it became. */
function stepAt(path: string, then: Then): Step | undefined {
  const keys = path.split("/");
  let state: RunState | undefined = then.state;
  let step: Step | undefined;
  for (const key of keys) {
    step = state === undefined ? undefined : stepOf(state, key);
    state = step?.nested === undefined || step.nested === null ? undefined : then.inside(step.nested);
  }
  return step;
}

// --- the panel ---------------------------------------------------------------------------------------------------------

function showPanel(then: Then, selected: string | null): void {
  const [now, panel] = panels();
  if (now === null || panel === null) return;
  now.hidden = true;
  panel.hidden = false;
  const told = selected === null ? ofRun(then) : ofStep(selected, then);
  const heading = panel.querySelector("h2") ?? skeleton(panel);
  heading.textContent = told.title;
  fill(panel, ".dot", (element) => (element.dataset.state = told.state));
  fill(panel, ".says", (element) => (element.textContent = then.says));
  fill(panel, ".label", (element) => (element.textContent = told.label));
  fill(panel, "pre", (element) => {
    if (element.textContent !== told.text) element.textContent = told.text;
    element.hidden = told.text === "";
    element.toggleAttribute("data-writing", told.isWriting);
  });
}

type Told = { title: string; state: string; label: string; text: string; isWriting: boolean };

function ofStep(path: string, then: Then): Told {
  const step = stepAt(path, then);
  if (step === undefined) return { title: path, state: "waiting", label: "There was no such step yet", text: "", isWriting: false };
  const last = step.attempts.at(-1);
  const isWriting = step.status === "running" && last?.status === "running";
  const heard = last === undefined ? "" : then.text(`a${last.id}`);
  const text = isWriting ? heard : heard || (step.result ?? step.error ?? "");
  const label = isWriting ? (text === "" ? "Waiting for the first token" : "Writing") : STEP[step.status];
  return { title: `${step.position} · ${title(step.instruction)}`, state: step.status, label, text, isWriting };
}

function ofRun(then: Then): Told {
  const { state } = then;
  const planning = state.planning.at(-1);
  const isWriting = planning?.status === "running" && !isOver(state.status);
  const done = state.steps.filter(({ status }) => status === "succeeded" || status === "reused" || status === "written");
  const label = isWriting
    ? "The plan, as far as it was written"
    : state.steps.length > 0
      ? `${done.length} of ${plural(state.steps.length, "step")} done`
      : "No steps yet";
  const text = state.answer ?? (planning === undefined || state.steps.length > 0 ? "" : then.text(`p${planning.proposal}`));
  return { title: "The run", state: state.status, label: state.answer === null ? label : "The answer", text, isWriting };
}

function skeleton(panel: HTMLElement): HTMLElement {
  const [header, row, heading, says] = [element("header"), element("div", "row"), element("h2", "name"), element("p", "says muted")];
  const [section, label, text] = [element("section"), element("h3", "label"), element("pre", "said")];
  row.append(dot("waiting"), heading);
  header.append(row, says);
  text.tabIndex = 0;
  section.append(label, text);
  panel.replaceChildren(header, section);
  return heading;
}

const panels = (): [HTMLElement | null, HTMLElement | null] => [
  document.getElementById("panel"),
  document.getElementById("then"),
];

function fill(within: Element, selector: string, change: (element: HTMLElement) => void): void {
  const found = within.querySelector<HTMLElement>(selector);
  if (found !== null) change(found);
}

function element(name: string, className = ""): HTMLElement {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  return made;
}

function dot(state: string): HTMLElement {
  const made = element("span", "dot");
  made.dataset.state = state;
  return made;
}
