/* The page of a worker: what its test says streams in, and the part that tells of it is fetched as its run goes on. */
import { LiveSocket, socketUrl } from "./live/socket";
import { Session } from "./live/session";
import { isOver, type RunState } from "./live/state";
import { Streams } from "./live/streams";
import { Announcer } from "./page/announce";
import { Follow } from "./page/follow";
import { afterSettle, htmx } from "./page/htmx";
import { coalesced } from "./page/refresh";
import { Texts } from "./page/texts";

const followed = new Set<string>();
const announcer = new Announcer(document.getElementById("announce"));

const part = (): HTMLElement | null => document.getElementById("test");

/** Follow the run of the test that the page shows, until it is over. */
function follow(code: string): void {
  followed.add(code);
  const streams = new Streams();
  const texts = new Texts(streams, new Follow());
  const refresh = coalesced(() => {
    const shown = part();
    if (shown?.dataset.run === code) htmx()?.trigger(shown, "studio:refresh");
  });
  const socket = new LiveSocket({
    url: socketUrl(`/ws/runs/${encodeURIComponent(code)}/`, location),
    cursor: () => session.state.seq,
    onFrame: (frame) => session.take(frame),
    onLine: () => undefined,
  });
  const session: Session = new Session(socket, streams);
  session.listen({
    onEvents: (_events, _before, after) => {
      refresh();
      if (!isOver(after.status)) return;
      socket.end();
      announcer.say(saidOf(after));
    },
    onText: (stream) => texts.grew(stream),
  });
  afterSettle(() => texts.find());
  socket.start();
}

export const saidOf = ({ status }: Pick<RunState, "status">): string =>
  status === "succeeded" ? "The worker answered." : status === "failed" ? "The test failed." : "The test was stopped.";

function find(): void {
  const code = part()?.dataset.run;
  if (code !== undefined && !followed.has(code)) follow(code);
}

afterSettle(find);
find();
