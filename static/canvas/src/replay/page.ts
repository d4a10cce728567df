/* The page around the graph of a recorded run: figures, texts and states as they were at an instant. */
import { hasResult, isOver, type RunState, type Step } from "../live/state";
import { count, seconds } from "../numbers";
import type { Instant, Moment } from "./moments";

const SAID: Readonly<Record<RunState["status"], string>> = {
  queued: "Queued",
  planning: "Planning",
  held: "Held",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Stopped",
};

/** The texts that the server wrote for the end of the run, to be put back when the end is shown again. */
export class Page {
  private readonly ends = new Map<Element, string>();

  constructor(private readonly begin: number) {
    for (const place of document.querySelectorAll("[data-now]")) this.ends.set(place, place.textContent ?? "");
  }

  show({ state, inside, at }: Instant, steps: ReadonlyMap<string, Step>, isEnd: boolean): void {
    this.figures(state, inside, at, isEnd);
    const pill = document.querySelector<HTMLElement>('[data-now="status"]');
    if (pill !== null) this.status(pill, state.status);
    for (const place of document.querySelectorAll<HTMLElement>("details.step")) {
      const step = steps.get(place.dataset.key ?? "");
      place.querySelector(".dot")?.setAttribute("data-state", step?.status ?? "waiting");
      reveal(place, "asked", step !== undefined && step.attempts.length > 0);
      reveal(place, "answered", step !== undefined && (isEnd || hasResult(step)));
    }
    const answer = document.getElementById("answer");
    if (answer !== null) reveal(answer, "answered", state.status === "succeeded");
  }

  private figures(state: RunState, inside: ReadonlyMap<string, RunState>, at: number, isEnd: boolean): void {
    const all = [state, ...inside.values()];
    const tokens = all.reduce((sum, each) => sum + each.tokens, 0);
    const cost = all.reduce((sum, each) => sum + each.costUsd, 0);
    this.write("elapsed", isEnd ? null : seconds(at - this.begin));
    this.write("tokens", isEnd ? null : count(tokens));
    this.write("cost", isEnd ? null : `$${cost.toFixed(cost > 0 && cost < 0.1 ? 4 : 2)}`);
  }

  /** The figure called `name`; null: as the server wrote it for the end. */
  private write(name: string, text: string | null): void {
    const place = document.querySelector(`[data-now="${name}"]`);
    if (place !== null) place.textContent = text ?? this.ends.get(place) ?? "";
  }

  private status(pill: HTMLElement, status: RunState["status"]): void {
    pill.dataset.state = status;
    pill.querySelector(".dot")?.setAttribute("data-state", status);
    const words = pill.lastElementChild;
    if (words !== null) words.textContent = SAID[status];
  }
}

/** What is there `when` something holds, and what is said in its place `until` then. */
function reveal(place: Element, name: string, isThere: boolean): void {
  for (const part of place.querySelectorAll<HTMLElement>(`:scope > [data-when="${name}"]`)) part.hidden = !isThere;
  for (const part of place.querySelectorAll<HTMLElement>(`:scope > [data-until="${name}"]`)) part.hidden = isThere;
}

/** "Step 2 started", "Planned", for the one who moves through the events. */
export function saidOf(moment: Moment | undefined, steps: ReadonlyMap<string, Step>, key: string | null): string {
  if (moment === undefined) return "before it began";
  const [subject = "", what = ""] = moment.event.verb.split(".");
  const step = key === null ? undefined : steps.get(key);
  const name = key !== null && key.includes("/") ? `step ${key}` : step === undefined ? subject : `step ${step.position}`;
  return `${name} ${WORDS[what] ?? what}`;
}

const WORDS: Readonly<Record<string, string>> = {
  fellback: "got a stand-in",
  done: "done",
  templated: "from a template",
};

export const isEndOf = (instant: Instant): boolean => isOver(instant.state.status);
