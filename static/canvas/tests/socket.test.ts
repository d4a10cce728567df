import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Frame } from "../src/live/events";
import { LiveSocket, socketUrl, type Line, type Socket } from "../src/live/socket";

class FakeSocket implements Socket {
  readyState = 0;
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  readonly sent: object[] = [];

  constructor(readonly url: string) {}

  opens(): void {
    this.readyState = 1;
    this.onopen?.({} as Event);
  }
  says(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) } as MessageEvent);
  }
  breaks(code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code } as CloseEvent);
  }
  send(data: string): void {
    this.sent.push(JSON.parse(data) as object);
  }
  close(): void {
    this.readyState = 3;
  }
}

function studio() {
  const sockets: FakeSocket[] = [];
  const lines: Line[] = [];
  const frames: Frame[] = [];
  let seq = 0;
  const live = new LiveSocket({
    url: "ws://studio/ws/runs/k3f9/",
    cursor: () => seq,
    onFrame: (frame) => frames.push(frame),
    onLine: (line) => lines.push(line),
    open: (url) => {
      const socket = new FakeSocket(url);
      sockets.push(socket);
      return socket;
    },
    random: () => 1,
  });
  const last = (): FakeSocket => sockets.at(-1) as FakeSocket;
  const seen = (event: number): void => void (seq = event);
  return { live, sockets, lines, frames, last, seen };
}

const EVENTS = { t: "events", events: [], head: 0 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a line", () => {
  test("opens with a hello that names the last event seen", () => {
    const { live, last, lines, frames } = studio();
    live.start();
    last().opens();
    last().says(EVENTS);
    expect(last().sent).toEqual([{ t: "hello", after: 0 }]);
    expect(frames).toEqual([EVENTS]);
    expect(lines).toEqual(["live"]);
  });

  test("that breaks resumes at the cursor", () => {
    const { live, last, lines, sockets, seen } = studio();
    live.start();
    last().opens();
    last().says(EVENTS);
    seen(1284);
    last().breaks();
    vi.advanceTimersByTime(500);
    last().opens();
    expect(sockets).toHaveLength(2);
    expect(last().sent).toEqual([{ t: "hello", after: 1284 }]);
    last().says(EVENTS);
    expect(lines).toEqual(["live", "reconnecting", "live"]);
  });

  test("waits longer after each failure, but never for long", () => {
    const { live, last, sockets } = studio();
    live.start();
    const waits: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      last().breaks();
      const before = sockets.length;
      let waited = 0;
      while (sockets.length === before) {
        vi.advanceTimersByTime(100);
        waited += 100;
      }
      waits.push(waited);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  });

  test("is patient again once something was heard", () => {
    const { live, last, sockets } = studio();
    live.start();
    for (let failure = 0; failure < 5; failure += 1) {
      last().breaks();
      vi.advanceTimersByTime(15_000);
    }
    last().opens();
    last().says(EVENTS);
    const before = sockets.length;
    last().breaks();
    vi.advanceTimersByTime(500);
    expect(sockets).toHaveLength(before + 1);
  });

  test("that has gone silent is asked, and given up when it does not answer", () => {
    const { live, last, lines, sockets } = studio();
    live.start();
    last().opens();
    last().says(EVENTS);
    const first = last();
    vi.advanceTimersByTime(25_000);
    expect(first.sent).toHaveLength(2);
    vi.advanceTimersByTime(10_000);
    expect(lines).toEqual(["live", "reconnecting"]);
    vi.advanceTimersByTime(500);
    expect(sockets).toHaveLength(2);
    first.says(EVENTS);
    expect(lines.at(-1)).toBe("reconnecting");
  });

  test("that answers is left alone", () => {
    const { live, last, sockets } = studio();
    live.start();
    last().opens();
    for (let minute = 0; minute < 20; minute += 1) {
      last().says(EVENTS);
      vi.advanceTimersByTime(25_000);
    }
    expect(sockets).toHaveLength(1);
  });

  test("that never opens is tried again", () => {
    const { live, sockets } = studio();
    live.start();
    vi.advanceTimersByTime(10_500);
    expect(sockets).toHaveLength(2);
  });

  test.each([
    [4401, "signed-out"],
    [4404, "gone"],
  ] as const)("closed with %i is never opened again", (code, line) => {
    const { live, last, lines, sockets } = studio();
    live.start();
    last().opens();
    last().says({ t: "closed", reason: "…" });
    last().breaks(code);
    vi.advanceTimersByTime(600_000);
    expect(sockets).toHaveLength(1);
    expect(lines.at(-1)).toBe(line);
  });

  test("that has ended stays closed, whatever happens", () => {
    const { live, last, lines, sockets } = studio();
    live.start();
    last().opens();
    last().says(EVENTS);
    const socket = last();
    live.end();
    socket.breaks();
    vi.advanceTimersByTime(600_000);
    expect(sockets).toHaveLength(1);
    expect(socket.readyState).toBe(3);
    expect(lines.at(-1)).toBe("ended");
  });

  test("ignores what it does not understand", () => {
    const { live, last, frames } = studio();
    live.start();
    last().opens();
    last().says({ t: "weather", is: "fine" });
    last().onmessage?.({ data: "{" } as MessageEvent);
    last().onmessage?.({ data: "null" } as MessageEvent);
    expect(frames).toEqual([]);
  });

  test("asks for missing text only while it is open", () => {
    const { live, last } = studio();
    live.start();
    live.fill("a12", 7);
    last().opens();
    live.fill("a12", 7);
    expect(last().sent).toEqual([
      { t: "hello", after: 0 },
      { t: "fill", stream: "a12", from: 7 },
    ]);
  });
});

describe("when the browser comes online", () => {
  const online = new EventTarget();
  beforeEach(() => {
    vi.stubGlobal("addEventListener", online.addEventListener.bind(online));
    vi.stubGlobal("removeEventListener", online.removeEventListener.bind(online));
  });
  afterEach(() => void vi.unstubAllGlobals());

  test("a broken line is opened at once", () => {
    const { live, last, sockets } = studio();
    live.start();
    last().breaks();
    online.dispatchEvent(new Event("online"));
    expect(sockets).toHaveLength(2);
    live.end();
  });

  test("a line that seems open is asked whether it is", () => {
    const { live, last, sockets } = studio();
    live.start();
    last().opens();
    last().says(EVENTS);
    online.dispatchEvent(new Event("online"));
    expect(sockets).toHaveLength(1);
    expect(last().sent).toHaveLength(2);
    live.end();
  });

  test("an ended line stays ended", () => {
    const { live, sockets } = studio();
    live.start();
    live.end();
    online.dispatchEvent(new Event("online"));
    expect(sockets).toHaveLength(1);
  });
});

test("the address follows the page's own protocol and host", () => {
  expect(socketUrl("/ws/runs/k/", { protocol: "https:", host: "studio.example" })).toBe("wss://studio.example/ws/runs/k/");
  expect(socketUrl("/ws/runs/k/", { protocol: "http:", host: "localhost:8000" })).toBe("ws://localhost:8000/ws/runs/k/");
});
