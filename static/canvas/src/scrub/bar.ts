/*
 * The bar under the graph that leads to an earlier moment of the run and plays it from there.
 *
 * A moment is a position in the run's history; none is the present. With less motion asked for, playing goes from event
 * to event, and what was being written in between is not shown growing.
 */
import { count, seconds } from "../numbers";
import type { History } from "./history";

export type Moment = { position: number; time: number };

type Options = {
  history: History;
  /** Where the run is looked at from now on; null for the present. */
  onMoment(moment: Moment | null): void;
  /** The moment that was come to rest at. */
  onRest(moment: Moment | null): void;
};

const LEAP = 10;
const REST_MS = 200;
const LONGEST_FRAME_MS = 100; // a page that slept must not wake up at the end

export class ScrubBar {
  private moment: Moment | null = null;
  private frame: number | null = null;
  private before = 0;
  /** Where playing is, which may be further than what is shown. */
  private playing = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private readonly range: HTMLInputElement;
  private readonly says: HTMLOutputElement;

  constructor(
    private readonly bar: HTMLElement,
    private readonly options: Options,
  ) {
    this.range = bar.querySelector("input") as HTMLInputElement;
    this.says = bar.querySelector("output") as HTMLOutputElement;
    this.range.addEventListener("input", () => this.goTo(Number(this.range.value)));
    this.range.addEventListener("keydown", (event) => this.onKey(event));
    bar.addEventListener("click", (event) => this.onClick(event));
  }

  /** There are more events, or the first. */
  grew(): void {
    const { history } = this.options;
    this.bar.hidden = history.length < 2;
    this.range.max = String(history.length);
    this.show();
  }

  get isThen(): boolean {
    return this.moment !== null;
  }

  /** Look at the run as it was at `position`. */
  goTo(position: number): void {
    this.stop();
    this.look(position);
  }

  /** Show the present again. */
  leave(): void {
    this.stop();
    if (this.moment === null) return;
    this.moment = null;
    this.show();
    this.options.onMoment(null);
    this.settle();
  }

  private look(position: number): void {
    const { history } = this.options;
    const at = history.clamped(position);
    this.moment = { position: at, time: history.time(at) };
    this.show();
    this.options.onMoment(this.moment);
    this.settle();
  }

  private by(events: number): void {
    const { history } = this.options;
    const at = this.moment?.position ?? history.length;
    this.goTo(events < 0 ? Math.ceil(at) + events : Math.floor(at) + events);
  }

  // --- playing ------------------------------------------------------------------------------------------------------

  private play(): void {
    const { history } = this.options;
    const at = this.moment?.position ?? history.length;
    this.playing = at >= history.length ? 1 : at;
    this.before = performance.now();
    this.look(this.playing);
    this.frame = requestAnimationFrame((now) => this.tick(now));
    this.show();
  }

  private tick(now: number): void {
    const { history } = this.options;
    const gone = Math.min(Math.max(0, now - this.before), LONGEST_FRAME_MS);
    this.before = now;
    this.playing = history.later(this.playing, gone * this.speed);
    const shown = isCalm() ? Math.floor(this.playing) : this.playing;
    if (shown !== this.moment?.position) this.look(shown);
    if (this.playing >= history.length) this.stop();
    else this.frame = requestAnimationFrame((then) => this.tick(then));
  }

  private stop(): void {
    if (this.frame === null) return;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.show();
  }

  private get speed(): number {
    return Number(this.bar.querySelector<HTMLSelectElement>("[data-speed]")?.value ?? 1);
  }

  // --- what a person does -------------------------------------------------------------------------------------------

  private onClick(event: MouseEvent): void {
    const go = (event.target as Element).closest<HTMLElement>("[data-go]")?.dataset.go;
    if (go === "back") this.by(-1);
    else if (go === "on") this.by(1);
    else if (go === "now") {
      this.leave();
      this.range.focus(); // the button is gone
    } else if (go === "play") {
      if (this.frame === null) this.play();
      else this.stop();
    }
  }

  /** Whole events by keys: the browser's own steps would be hundredths of one. */
  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { length } = this.options.history;
    if (event.key === "ArrowLeft" || event.key === "ArrowDown") this.by(-1);
    else if (event.key === "ArrowRight" || event.key === "ArrowUp") this.by(1);
    else if (event.key === "PageDown") this.by(-LEAP);
    else if (event.key === "PageUp") this.by(LEAP);
    else if (event.key === "Home") this.goTo(1);
    else if (event.key === "End") this.goTo(length);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  // --- what is shown ------------------------------------------------------------------------------------------------

  private show(): void {
    const { history } = this.options;
    const at = this.moment?.position ?? history.length;
    this.range.value = String(at);
    this.range.setAttribute("aria-valuetext", this.words(at));
    const says = this.moment === null ? `${count(history.length)} events` : this.words(at);
    if (this.says.textContent !== says) this.says.textContent = says;
    const play = this.button("play");
    play.textContent = this.frame === null ? "Play" : "Stop";
    play.setAttribute("aria-pressed", String(this.frame !== null));
    this.button("now").hidden = this.moment === null;
  }

  /** "12 of 48 · step.succeeded · 4.1 s" */
  private words(position: number): string {
    const { history } = this.options;
    const event = history.event(position);
    const gone = history.time(position) - history.time(1);
    return `${count(Math.floor(position))} of ${count(history.length)} · ${event?.verb ?? ""} · ${seconds(Math.max(0, gone))}`;
  }

  private button(go: string): HTMLButtonElement {
    return this.bar.querySelector(`[data-go="${go}"]`) as HTMLButtonElement;
  }

  private settle(): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.options.onRest(this.moment), REST_MS);
  }
}

const isCalm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
