/*
 * A line to the server that mends itself.
 *
 * Every connection opens with a hello that names the last event seen, so that resuming is the same as starting. The
 * same hello, sent again after a silence, is the heartbeat: its answer proves the line and brings whatever was lost.
 */
import { readFrame, type Frame } from "./events";

export type Line =
  | "connecting"
  | "live"
  | "reconnecting"
  | "ended" // nothing more will come
  | "signed-out"
  | "gone"; // no such run, or not ours to see

/** What is used of a WebSocket. */
export type Socket = Pick<WebSocket, "send" | "close"> & {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
};

type Options = {
  url: string;
  /** The last event seen: where to resume. */
  cursor: () => number;
  onFrame: (frame: Frame) => void;
  onLine: (line: Line) => void;
  open?: (url: string) => Socket;
  random?: () => number;
};

const OPEN = 1;
const SILENCE_MS = 25_000;
const ANSWER_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const FOR_GOOD: Readonly<Record<number, Line>> = { 4401: "signed-out", 4404: "gone" };

export class LiveSocket {
  private socket: Socket | null = null;
  private line: Line = "connecting";
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly open: (url: string) => Socket;
  private readonly random: () => number;

  constructor(private readonly options: Options) {
    this.open = options.open ?? ((url) => new WebSocket(url) as Socket);
    this.random = options.random ?? Math.random;
  }

  start(): void {
    globalThis.addEventListener?.("online", this.onOnline);
    this.connect();
  }

  /** Ask again for everything after the cursor. */
  hello(): void {
    this.send({ t: "hello", after: this.options.cursor() });
    this.expect(ANSWER_MS, () => this.drop());
  }

  fill(stream: string, from: number): void {
    this.send({ t: "fill", stream, from });
  }

  /** Close, and stay closed. */
  end(line: Line = "ended"): void {
    globalThis.removeEventListener?.("online", this.onOnline);
    clearTimeout(this.timer);
    this.forget();
    this.say(line);
  }

  private readonly onOnline = (): void => {
    if (this.socket?.readyState === OPEN) this.hello();
    else this.connect();
  };

  private connect(): void {
    clearTimeout(this.timer);
    this.forget();
    const socket = this.open(this.options.url);
    this.socket = socket;
    socket.onopen = () => this.hello();
    socket.onmessage = (event) => this.heard(event.data);
    socket.onclose = (event) => this.closed(event.code);
    this.expect(ANSWER_MS, () => this.drop()); // a connection that never opens is as dead as one that broke
  }

  private heard(data: unknown): void {
    this.failures = 0;
    this.expect(SILENCE_MS, () => this.hello());
    const frame = readFrame(data);
    if (frame === null) return;
    if (frame.t === "closed") return; // its close code says the same, and more surely
    this.say("live");
    this.options.onFrame(frame);
  }

  private closed(code: number): void {
    this.socket = null;
    const forGood = FOR_GOOD[code];
    if (forGood) this.end(forGood);
    else this.retry();
  }

  /** Give up a connection that does not answer, without waiting for its goodbye. */
  private drop(): void {
    this.forget();
    this.retry();
  }

  private forget(): void {
    const socket = this.socket;
    this.socket = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  private retry(): void {
    this.say("reconnecting");
    const longest = Math.min(FIRST_RETRY_MS * 2 ** this.failures, LONGEST_RETRY_MS);
    this.failures += 1;
    // Half of it is chance, so that after a restart the viewers do not all return in the same instant.
    this.expect(longest * (0.5 + 0.5 * this.random()), () => this.connect());
  }

  private expect(ms: number, then: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(then, ms);
  }

  private send(message: object): void {
    if (this.socket?.readyState === OPEN) this.socket.send(JSON.stringify(message));
  }

  private say(line: Line): void {
    if (line === this.line) return;
    this.line = line;
    this.options.onLine(line);
  }
}

/** `path` on this page's own host, as a WebSocket address. */
export function socketUrl(path: string, location: Pick<Location, "protocol" | "host">): string {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`;
}
