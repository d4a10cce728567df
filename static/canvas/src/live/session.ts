/* One viewer's view of one run: what the socket says, kept as state, texts and draft, with listeners told of changes. */
import type { DraftStep, Frame, RunEvent } from "./events";
import { reduce } from "./reduce";
import { NOTHING, isOver, type RunState } from "./state";
import { Streams } from "./streams";

export type Draft = { proposal: number; steps: readonly DraftStep[] };

export type Listener = {
  /** `events` led from `before` to `after`. */
  onEvents?(events: readonly RunEvent[], before: RunState, after: RunState): void;
  onText?(stream: string): void;
  onDraft?(draft: Draft | null): void;
};

type Ask = { hello(): void; fill(stream: string, from: number): void };

const SPOILT: ReadonlySet<string> = new Set(["planning.failed", "planning.cut", "planning.lost"]);
const FILL_AGAIN_MS = 2_000;

export class Session {
  state: RunState = NOTHING;
  draft: Draft | null = null;
  private readonly listeners: Listener[] = [];
  /** When the first text of a stream was seen to come; of one that was found half written nobody knows. */
  private readonly begun = new Map<string, number>();
  private readonly asked = new Map<string, number>();
  /** Proposals whose draft is over: what is still told of them comes too late. */
  private readonly settled = new Set<number>();
  private missing: number | null = null;

  /** `streams` are shared by the sessions of a page: no two runs write the same stream. */
  constructor(
    private readonly ask: Ask,
    readonly streams: Streams = new Streams(),
    private readonly now: () => number = () => performance.now(),
  ) {}

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  take(frame: Frame): void {
    switch (frame.t) {
      case "events":
        return this.takeEvents(frame.events);
      case "deltas":
        for (const [stream, offset, text] of frame.deltas) {
          if (offset === 0 && this.streams.points(stream) === 0) this.begun.set(stream, this.now());
          this.takeText(stream, offset, text);
        }
        return;
      case "text":
        this.asked.delete(frame.stream);
        return this.takeText(frame.stream, frame.from, frame.text);
      case "draft":
        return this.setDraft({ proposal: frame.proposal, steps: frame.steps });
    }
  }

  begunAt = (stream: string): number | undefined => this.begun.get(stream);

  private takeEvents(events: readonly RunEvent[]): void {
    const before = this.state;
    const news = events.filter((event) => event.seq > before.seq);
    const first = news[0];
    if (first === undefined) return;
    if (first.seq > before.seq + 1 && this.missing !== before.seq) {
      // Asked once: if the answer has the same hole, there is nothing in it, and we go on.
      this.missing = before.seq;
      this.ask.hello();
      return;
    }
    this.state = news.reduce(reduce, before);
    for (const listener of this.listeners) listener.onEvents?.(news, before, this.state);
    this.settleDraft(news);
  }

  private takeText(stream: string, offset: number, text: string): void {
    const applied = this.streams.apply(stream, offset, text);
    if (applied.kind === "grew") for (const listener of this.listeners) listener.onText?.(stream);
    if (applied.kind === "gap") this.askFor(stream, applied.from);
  }

  private askFor(stream: string, from: number): void {
    const now = this.now();
    if (now - (this.asked.get(stream) ?? -Infinity) < FILL_AGAIN_MS) return;
    this.asked.set(stream, now);
    this.ask.fill(stream, from);
  }

  /** A draft lives until it is adopted, thrown away, or its run is over. */
  private settleDraft(events: readonly RunEvent[]): void {
    if (this.draft === null) return;
    if (!events.some(settles) && !isOver(this.state.status)) return;
    this.settled.add(this.draft.proposal);
    this.setDraft(null);
  }

  private setDraft(draft: Draft | null): void {
    if (draft !== null && this.comesLate(draft.proposal)) return;
    this.draft = draft;
    for (const listener of this.listeners) listener.onDraft?.(draft);
  }

  /** Events and drafts come by different ways: a draft may be told before its planning began, or after it was done. */
  private comesLate(proposal: number): boolean {
    const { planning, steps, status } = this.state;
    const known = planning.find((entry) => entry.proposal === proposal);
    const isOld = known === undefined && steps.length > 0 && planning.every((entry) => entry.proposal > proposal);
    return isOver(status) || this.settled.has(proposal) || isOld || (known !== undefined && known.status !== "running");
  }
}

function settles(event: RunEvent): boolean {
  if (event.verb === "workflow.adopted" || event.verb === "workflow.extended" || SPOILT.has(event.verb)) return true;
  return event.verb === "planning.done" && event.data.verdict === "kept";
}
