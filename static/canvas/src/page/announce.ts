/* What is said aloud: changes of state, never tokens. */
import type { RunEvent } from "../live/events";
import { stepOf, type RunState } from "../live/state";
import { list } from "../numbers";
import { title } from "../title";

const GATHER_MS = 600;

/** A sentence for each of `events` that a listener needs to hear, `state` being the run after them. */
export function sentences(events: readonly RunEvent[], state: RunState): string[] {
  return events.flatMap((event) => sentence(event, state) ?? []);
}

function sentence(event: RunEvent, state: RunState): string | null {
  switch (event.verb) {
    case "planning.started":
      return "The conductor is writing a plan.";
    case "planning.failed":
      return "The plan could not be used.";
    case "workflow.adopted":
      return `The plan has ${event.data.steps.length} steps.`;
    case "step.started":
      return `${named(state, event.data.step)} is running.`;
    case "step.succeeded":
      return `${named(state, event.data.step)} is done.`;
    case "step.reused":
      return `${named(state, event.data.step)} is reused.`;
    case "step.failed":
      return `${named(state, event.data.step)} failed.`;
    case "step.skipped": {
      const because = event.data.because.map((key) => stepOf(state, key)?.position ?? key);
      return `${named(state, event.data.step)} is skipped because of step ${list(because)}.`;
    }
    case "run.held":
      return "The run waits for approval.";
    case "run.stopped":
      return "The run was stopped.";
    case "run.succeeded":
      return "The answer is there.";
    case "run.failed":
      return "The run failed.";
    default:
      return null;
  }
}

function named(state: RunState, key: string): string {
  const step = stepOf(state, key);
  return step === undefined ? "A step" : `Step ${step.position}, ${title(step.instruction)},`;
}

/** Puts sentences into the live region, those of one moment together. */
export class Announcer {
  private waiting: string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly region: HTMLElement | null) {}

  say(...sentences: string[]): void {
    if (this.region === null || sentences.length === 0) return;
    this.waiting.push(...sentences);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.region !== null) this.region.textContent = this.waiting.join(" ");
      this.waiting = [];
    }, GATHER_MS);
  }
}
