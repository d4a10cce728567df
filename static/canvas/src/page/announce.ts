/* What is said aloud: changes of state, never tokens. */
import type { AdoptedStep, RunEvent } from "../live/events";
import { isInTurns, NOTHING, stepOf, type RunState } from "../live/state";
import { list, plural } from "../numbers";
import { title } from "../title";

const GATHER_MS = 600;

/** A sentence for each of `events` that a listener needs to hear, `state` being the run after them. */
export function sentences(events: readonly RunEvent[], state: RunState, before: RunState = NOTHING): string[] {
  return events.filter((event) => !isKnown(event, before)).flatMap((event) => sentence(event, state) ?? []);
}

/** Whoever waits is said to wait once, however often the line moves on. */
function isKnown(event: RunEvent, before: RunState): boolean {
  if (event.verb === "planning.waiting") return before.planningWaits !== "";
  return event.verb === "step.waiting" && (stepOf(before, event.data.step)?.waiting ?? "") !== "";
}

function sentence(event: RunEvent, state: RunState): string | null {
  switch (event.verb) {
    case "planning.waiting":
      return `The planner is ${event.data.words}.`;
    case "planning.started":
      return state.steps.length > 0 ? "What comes next is being planned." : "The conductor is writing a plan.";
    case "planning.failed":
      return "The plan could not be used.";
    case "planning.done":
      return event.data.verdict === "kept" ? `Round ${event.data.round ?? 2} keeps the workflow as it is.` : null;
    case "planning.fellback":
      return "Another planner stands in.";
    case "run.noticed":
      return event.texts.reason ?? null;
    case "workflow.adopted":
      return `${event.data.by === "review" ? "The plan was edited: it" : "The plan"} has ${plural(event.data.steps.length, "step")}.${sinkIn(state)}`;
    case "workflow.extended":
      return grown(event.data.steps, state);
    case "step.started":
      if (event.data.nested !== undefined) return `${named(state, event.data.step)} becomes a run of its own.`;
      return `${named(state, event.data.step)} is running.`;
    case "step.waiting":
      return `${named(state, event.data.step)} is ${event.data.words}.`;
    case "step.fellback":
      return `${named(state, event.data.step)} goes to another worker.`;
    case "embedding.failed":
      return "An embedding worker failed.";
    case "step.succeeded":
      return `${named(state, event.data.step)} is done.`;
    case "step.reused":
      return `${named(state, event.data.step)} is reused.`;
    case "step.written":
      return `${named(state, event.data.step)} has a result written by ${event.actor?.label ?? "a person"}.`;
    case "step.failed":
      return `${named(state, event.data.step)} failed.`;
    case "step.skipped": {
      const because = event.data.because.map((key) => stepOf(state, key)?.position ?? key);
      return `${named(state, event.data.step)} is skipped because of step ${list(because)}.`;
    }
    case "run.held":
      return held(event.data, state);
    case "run.pausing":
      return "The run is being paused: what is under way ends.";
    case "run.breakpoints":
      return breaks(event.data.steps, state);
    case "run.rejected":
      return "The plan was rejected.";
    case "run.resumed":
    case "run.excepted":
      return "The run goes on.";
    case "run.stopped":
      return "The run was stopped.";
    case "run.succeeded":
      return `The answer is there.${counted(state)}`;
    case "run.failed":
      return "The run failed.";
    default:
      return null;
  }
}

/** The `sentences` of the run within the step at `path`, which is one of the run with `state` or of one within that. */
export function within(path: string, said: readonly string[], state: RunState): string[] {
  const step = stepOf(state, path.split("/")[0] ?? null);
  return said.map((sentence) => `Within step ${step?.position ?? path}: ${sentence}`);
}

function grown(steps: readonly AdoptedStep[], state: RunState): string {
  const round = Math.max(...steps.map((step) => step.round ?? 1));
  const who = round > 1 && !isInTurns(state.planner, state.steps) ? `Round ${round} changes the workflow` : "The workflow goes on";
  return `${who}: ${plural(steps.length, "more step")}, ${state.steps.length} in all.`;
}

function held({ reason, breakpoint }: { reason: string; breakpoint?: string }, state: RunState): string {
  if (reason === "limit") return "The run is held at a limit of money.";
  if (reason === "rules") return "The run is held by flow rules.";
  if (reason !== "pause") return "The run waits for approval.";
  const step = stepOf(state, breakpoint ?? null);
  return step === undefined ? "The run is paused." : `The run is paused before step ${step.position}.`;
}

function breaks(keys: readonly string[], state: RunState): string {
  if (keys.length === 0) return "The run pauses before no step.";
  return `The run pauses before step ${list(keys.map((key) => stepOf(state, key)?.position ?? key))}.`;
}

function sinkIn({ sink }: RunState): string {
  if (sink.kind === "last") return "";
  return ` ${sink.kind === "vote" ? "A vote" : "A selection"} over ${plural(sink.over.length, "step")} gives the answer.`;
}

function counted({ answerRule, answerDetail, answerStep }: RunState): string {
  if (answerRule === "vote-tie" || answerDetail?.tie) return " The vote was a tie: the first said was taken.";
  const votes = Object.values(answerDetail?.counts ?? {});
  const taken = votes.find((keys) => answerStep !== null && keys.includes(answerStep));
  if (taken === undefined) return "";
  return ` ${taken.length} of ${votes.reduce((sum, keys) => sum + keys.length, 0)} say so.`;
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
