// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Trail } from "./trail";

class FakeSocket {
  static opened: FakeSocket[] = [];
  readyState = 1;
  sent: string[] = [];
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.opened.push(this);
  }
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.readyState = 3;
  }
  says(frame: object): void {
    this.onmessage?.(new MessageEvent("message", { data: JSON.stringify(frame) }));
  }
}

const asked: string[] = [];
const settle = (): void => void document.dispatchEvent(new Event("htmx:afterSettle"));
const show = (inside: string, code = "k3f9"): void => {
  document.body.innerHTML = `<section id="test" data-run="${code}">${inside}</section><div id="announce"></div>`;
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetModules();
  FakeSocket.opened = [];
  asked.length = 0;
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("requestAnimationFrame", (then: () => void) => void then());
  window.htmx = { trigger: (_, event) => void asked.push(event), ajax: () => Promise.resolve() };
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a test that the page comes with is followed, and what it says is shown as it comes", async () => {
  show('<div data-stream="a7"></div>');
  await import("../src/worker");
  const [socket] = FakeSocket.opened;
  expect(socket?.url).toContain("/ws/runs/k3f9/");

  socket?.says({ t: "deltas", deltas: [["a7", 0, "I work"]] });
  settle();
  expect(document.querySelector("[data-stream]")?.textContent).toBe("I work");
  socket?.says({ t: "deltas", deltas: [["a7", 6, "."]] });
  expect(document.querySelector("[data-stream]")?.textContent).toBe("I work.");
});

test("its part is fetched again as its run goes on, and its end is said aloud", async () => {
  show("");
  await import("../src/worker");
  const [socket] = FakeSocket.opened;
  const { events } = new Trail().submitted().adopted({ s1: [] }).answered("s1", "last", {});

  socket?.says({ t: "events", events, head: events.length });
  vi.advanceTimersByTime(2_000);

  expect(asked).toContain("studio:refresh");
  expect(document.getElementById("announce")?.textContent).toBe("The worker answered.");
  expect(socket?.readyState).toBe(3);
});

test("one that is begun here is followed too, and each once", async () => {
  document.body.innerHTML = '<section id="test"></section>';
  await import("../src/worker");
  expect(FakeSocket.opened).toHaveLength(0);

  show("", "new1");
  settle();
  const first = FakeSocket.opened.length; // the modules of the tests before this listen too
  settle();
  expect(new Set(FakeSocket.opened.map(({ url }) => url.split("/").at(-2)))).toEqual(new Set(["new1"]));
  expect([first > 0, FakeSocket.opened.length]).toEqual([true, first]);
});
