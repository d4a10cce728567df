/*
 * The rounds of a run: the steps that each time of planning wrote, and what is said where it wrote none.
 *
 * Planners that go on turn by turn write one step in each: those are no groups.
 */
import type { Draft } from "../live/session";
import { isInTurns, planningRound, type Planning, type RunState } from "../live/state";
import { capitalised, plural } from "../numbers";
import { NO_GRAPH, roundKey, type Card, type CardState, type Graph, type Note, type Round } from "./model";

/** The round that the steps of `draft` belong to. */
export function draftRound(state: RunState, draft: Draft | null): number {
  if (isInTurns(state.planner, state.steps)) return 1;
  const last = state.steps.at(-1)?.round ?? 1;
  const entry = state.planning.find(({ proposal }) => proposal === draft?.proposal);
  return entry?.round ?? planningRound(state) ?? (state.steps.length > 0 ? last + 1 : 1);
}

/** Notes in the place of steps: for rounds that added none (yet), and for the turn that is being decided. */
export function notesOf(state: RunState, cards: readonly Card[], prefix: string): Note[] {
  if (state.planningWaits !== "") return [waitsNote(state, cards, prefix)];
  if (state.steps.length === 0) return cards.length === 0 && prefix === "" ? planNote(state) : [];
  if (isInTurns(state.planner, state.steps)) return cards.length > state.steps.length ? [] : turnNote(state, cards, prefix);
  const drawn = new Set(cards.map((card) => card.round ?? 1));
  return laterRounds(state).flatMap((number) => {
    const entry = state.planning.findLast(({ round }) => round === number);
    return drawn.has(number) || entry === undefined ? [] : [roundNote(entry, cards, prefix)];
  });
}

/** Empty where there is but one. `verdictOf` says what a later round did to the one before. */
export function roundsOf(
  cards: readonly Card[],
  notes: readonly Note[] = [],
  prefix = "",
  verdictOf: (round: number) => string = () => "",
): Round[] {
  const all = [...cards, ...notes];
  const numbers = [...new Set(all.map(({ round }) => round ?? 1))].sort((a, b) => a - b);
  if (numbers.length < 2) return [];
  return numbers.map((number) => {
    const members = cards.filter(({ round }) => (round ?? 1) === number);
    return {
      key: roundKey(prefix, number),
      number,
      members: all.filter(({ round }) => (round ?? 1) === number).map(({ key }) => key),
      verdict: number === 1 ? "" : verdictOf(number),
      progress: `${members.filter(isDone).length} of ${plural(members.length, "step")}`,
      state: members.length > 0 ? together(members) : (notes.find(({ round }) => round === number)?.state ?? "waiting"),
    };
  });
}

/** What stands in a nested run that has no steps to show. */
export function waitingNote(state: RunState | undefined, prefix: string): Graph {
  const said: Partial<Record<RunState["status"], string>> = {
    queued: "It begins in a moment",
    planning: "The conductor is writing its plan",
    failed: "It failed before it had a plan",
    cancelled: "It was stopped before it had a plan",
  };
  const writing = state?.planning.findLast(({ status }) => status === "running");
  const note: Note = {
    key: `${prefix}note:1`,
    access: [],
    title: "Its plan",
    text: state === undefined ? "Its steps are being fetched" : (said[state.status] ?? "It has no steps"),
    state: state?.status === "failed" || state?.status === "cancelled" ? state.status : "waiting",
    stream: writing === undefined ? null : `p${writing.proposal}`,
  };
  return { ...NO_GRAPH, notes: [note] };
}

const laterRounds = (state: RunState): number[] =>
  [...new Set(state.planning.map(({ round }) => round))].filter((round) => round > 1).sort((a, b) => a - b);

/** The planner's model cannot be asked yet, and why. */
function waitsNote(state: RunState, cards: readonly Card[], prefix: string): Note {
  const last = cards.at(-1);
  return {
    key: `${prefix}note:waits`,
    access: last === undefined ? [] : [last.key],
    round: last?.round ?? 1,
    title: last === undefined ? "The plan" : "What comes next",
    text: capitalised(state.planningWaits),
    state: "waiting",
    stream: null,
  };
}

/** The planner has begun to write, and no step can be told yet. */
function planNote({ planning }: RunState): Note[] {
  const entry = planning.at(-1);
  if (entry?.status !== "running") return [];
  const text = "Steps appear as they are written";
  return [{ key: "note:1", access: [], title: "The plan", text, state: "running", stream: `p${entry.proposal}` }];
}

function turnNote(state: RunState, cards: readonly Card[], prefix: string): Note[] {
  const entry = state.planning.at(-1);
  const last = cards.at(-1);
  if (entry?.status !== "running" || last === undefined) return [];
  return [
    {
      key: `${prefix}note:next`,
      access: [last.key],
      round: last.round ?? 1,
      title: "What comes next",
      text: "Being decided",
      state: "running",
      stream: `p${entry.proposal}`,
    },
  ];
}

function roundNote(entry: Planning, cards: readonly Card[], prefix: string): Note {
  const before = cards.filter(({ round }) => (round ?? 1) < entry.round).at(-1);
  const isOpen = entry.status !== "failed" && entry.verdict !== "kept";
  return {
    key: `${prefix}note:${entry.round}`,
    access: before === undefined ? [] : [before.key],
    round: entry.round,
    title: isOpen ? "Looks at the answer" : entry.verdict === "kept" ? "Kept as it is" : "No further plan",
    text: isOpen
      ? "Whether the workflow is kept or changed is being decided"
      : entry.verdict === "kept"
        ? "The conductor saw the answer and added no step"
        : "The planner could not be asked, or wrote nothing valid",
    state: isOpen ? "running" : entry.verdict === "kept" ? "succeeded" : "failed",
    stream: entry.status === "running" ? `p${entry.proposal}` : null,
  };
}

/** What became of the round before: a word or two. */
export function verdictIn(state: RunState, number: number): string {
  const entry = state.planning.findLast(({ round }) => round === number);
  if (state.steps.some(({ round }) => round === number)) return entry === undefined ? "" : "changed";
  if (entry?.verdict === "kept") return "kept";
  return entry?.status === "failed" ? "not planned" : "being planned";
}

const DONE: ReadonlySet<Card["state"]> = new Set(["succeeded", "reused", "written"]);

const isDone = (card: Card): boolean => DONE.has(card.state);

/** How several steps stand as one. */
export function together(cards: readonly Card[]): CardState {
  const first: readonly CardState[] = ["running", "failed", "cancelled", "skipped", "draft", "held", "edited"];
  const found = first.find((state) => cards.some((card) => card.state === state));
  if (found !== undefined) return found;
  return cards.every(isDone) ? (cards.every(({ state }) => state === "reused") ? "reused" : "succeeded") : "waiting";
}
