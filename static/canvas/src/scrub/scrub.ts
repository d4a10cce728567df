/* The run at an earlier moment: its history and those of the runs in it, the bar that leads there, and what is drawn then. */
import type { Tails } from "../canvas/tails";
import type { View } from "../canvas/watching";
import type { RunEvent } from "../live/events";
import { count } from "../numbers";
import { ScrubBar, type Moment } from "./bar";
import { History } from "./history";
import { leaveThen, showThen, type Then } from "./then";
import { fromStudio, Tracks, type Source } from "./tracks";

type Options = {
  code: string;
  bar: HTMLElement | null;
  tails: Tails;
  selected(): string | null;
  /** Draw the graph again. */
  redraw(): void;
  /** Say which moment it is. */
  told(): void;
  /** Fetch again what the page says of the present. */
  refresh(): void;
  source?: Source;
};

export class Scrub {
  readonly history = new History();
  private readonly inner = new Map<string, History>();
  private readonly bar: ScrubBar | null;
  private readonly tracks: Tracks;
  private moment: Moment | null = null;
  private isDue = false;

  constructor(private readonly options: Options) {
    this.tracks = new Tracks(options.source ?? fromStudio, () => this.show());
    this.bar =
      options.bar === null
        ? null
        : new ScrubBar(options.bar, {
            history: this.history,
            onMoment: (moment) => this.look(moment),
            onRest: (moment) => keepInUrl(moment === null ? null : (this.history.event(moment.position)?.seq ?? null)),
          });
  }

  /** More happened in the run, or in the one called `code` that is nested in it. */
  add(events: readonly RunEvent[], code: string | null = null): void {
    if (code === null) {
      this.history.add(events);
      this.bar?.grew();
      return;
    }
    const history = this.inner.get(code) ?? new History();
    this.inner.set(code, history);
    history.add(events);
  }

  /** Which event is looked at, in words; null in the present. */
  get says(): string | null {
    if (this.moment === null) return null;
    return `event ${count(Math.floor(this.moment.position))} of ${count(this.history.length)}`;
  }

  /** Begin where the address says, which names an event by its number. */
  begin(address: string): void {
    const seq = Number(new URL(address).searchParams.get("at") ?? NaN);
    if (Number.isInteger(seq) && seq > 0 && this.history.length > 0) this.bar?.goTo(this.history.afterSeq(seq));
  }

  /** What is drawn: the run as it is `now`, or as it was. */
  view(now: View): View {
    return this.moment === null ? now : { state: this.history.state(this.moment.position), draft: null };
  }

  /** The same of a run nested in it. */
  inside(code: string, now: View | undefined): View | undefined {
    if (this.moment === null) return now;
    const history = this.inner.get(code);
    return history === undefined ? undefined : { state: history.state(history.position(this.moment.time)), draft: null };
  }

  /** Parts of the page were fetched anew, or another step was chosen. */
  settle(): void {
    if (this.moment !== null) showThen(this.then(this.moment), this.options.selected());
  }

  leave(): void {
    this.bar?.leave();
  }

  private look(moment: Moment | null): void {
    const was = this.moment;
    this.moment = moment;
    if (moment === null) {
      this.options.tails.show(null);
      leaveThen();
      this.options.redraw();
      this.options.refresh();
      return;
    }
    if (was === null) {
      this.tracks.forget();
      for (const code of [this.options.code, ...this.inner.keys()]) void this.tracks.load(code);
    }
    this.show();
  }

  /** At most once a frame, however fast the bar is dragged. */
  private show(): void {
    if (this.isDue || this.moment === null) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      const moment = this.moment;
      if (moment === null) return;
      this.options.tails.show((stream) => this.tracks.text(stream, moment.time));
      this.options.redraw();
      this.options.told();
      this.settle();
    });
  }

  private then({ position, time }: Moment): Then {
    const { history } = this;
    return {
      state: history.state(position),
      goneMs: Math.max(0, time - history.time(1)),
      says: `As it was at ${this.says ?? ""}`,
      inside: (code) => this.inside(code, undefined)?.state,
      text: (stream) => this.tracks.text(stream, time),
    };
  }
}

/** `?at=` names the event that is looked at, so that a link or a reload shows the same. */
function keepInUrl(seq: number | null): void {
  const url = new URL(location.href);
  if (seq === null) url.searchParams.delete("at");
  else url.searchParams.set("at", String(seq));
  const address = url.href.replaceAll("%3A", ":").replaceAll("%2F", "/");
  if (address !== location.href) history.replaceState(history.state, "", address);
}
