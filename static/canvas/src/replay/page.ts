/* The page around the graph of a recorded run: figures, states and texts as they were at a moment. */
import { hasResult, type RunState, type Step } from "../live/state";
import { count, seconds, usd } from "../numbers";
import type { Then } from "./recorded";

const SAID: Readonly<Record<RunState["status"], string>> = {
  queued: "Queued",
  planning: "Planning",
  held: "Held",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Stopped",
};
const NOTHING = "Nothing yet at this event.";

export class Page {
  /** What the server wrote: the figures of the end, and the states of the steps. */
  private readonly figures = new Map<Element, string>();
  private readonly dots = new Map<Element, string>();
  private readonly status: string;

  constructor(private readonly begin: number) {
    for (const place of document.querySelectorAll("[data-now]")) this.figures.set(place, place.textContent ?? "");
    for (const step of texts()) {
      const dot = step.querySelector<HTMLElement>("summary .dot");
      if (dot !== null) this.dots.set(dot, dot.dataset.state ?? "");
    }
    this.status = pill()?.dataset.state ?? "";
  }

  /** As it was; `heard` is what a stream had said by then. */
  show({ state, time }: Then, steps: ReadonlyMap<string, Step>, heard: (stream: string) => string): void {
    write("elapsed", seconds(Math.max(0, time - this.begin)));
    write("tokens", count(state.tokens)); // with those of nested runs, once their steps are done
    write("cost", state.costUsd > 0 ? usd(state.costUsd) : "nothing yet");
    showStatus(state.status, SAID[state.status]);
    for (const place of texts()) showStep(place, steps.get(place.dataset.key ?? ""), heard);
    showAnswer(state.status === "succeeded");
  }

  /** As it ended, and as the server wrote it. */
  end(): void {
    for (const [place, said] of this.figures) if (place !== pill()) place.textContent = said;
    for (const [dot, state] of this.dots) dot.setAttribute("data-state", state);
    showStatus(this.status, SAID[this.status as RunState["status"]] ?? this.status);
    for (const place of texts()) {
      reveal(place, "asked", true);
      reveal(place, "answered", true);
    }
    showAnswer(true);
  }
}

function showStep(place: HTMLElement, step: Step | undefined, heard: (stream: string) => string): void {
  place.querySelector("summary .dot")?.setAttribute("data-state", step?.status ?? "waiting");
  reveal(place, "asked", step !== undefined && step.attempts.length > 0);
  const isOver = step !== undefined && (hasResult(step) || ["failed", "skipped", "cancelled"].includes(step.status));
  reveal(place, "answered", isOver);
  const growing = place.querySelector('[data-until="answered"]');
  const call = step?.attempts.at(-1);
  if (growing !== null) growing.textContent = (call === undefined ? "" : heard(`a${call.id}`)) || NOTHING;
}

const showAnswer = (isThere: boolean): void => {
  const answer = document.getElementById("answer");
  if (answer !== null) reveal(answer, "answered", isThere);
};

const pill = (): HTMLElement | null => document.querySelector('[data-now="status"]');

function showStatus(status: string, words: string): void {
  const place = pill();
  if (place === null) return;
  place.dataset.state = status;
  place.querySelector(".dot")?.setAttribute("data-state", status);
  if (place.lastElementChild !== null) place.lastElementChild.textContent = words;
}

const texts = (): NodeListOf<HTMLDetailsElement> => document.querySelectorAll<HTMLDetailsElement>("details.step");

function write(name: string, text: string): void {
  const place = document.querySelector(`[data-now="${name}"]`);
  if (place !== null && place.textContent !== text) place.textContent = text;
}

/** What is there `when` something holds, and what is said in its place `until` then. */
function reveal(place: Element, name: string, isThere: boolean): void {
  for (const part of place.querySelectorAll<HTMLElement>(`[data-when="${name}"]`)) part.hidden = !isThere;
  for (const part of place.querySelectorAll<HTMLElement>(`[data-until="${name}"]`)) part.hidden = isThere;
}
