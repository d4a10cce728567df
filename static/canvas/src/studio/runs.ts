/* Lists of runs that say when they are stale. `[data-runs-socket]` names the socket to listen to. */
import { socketUrl } from "../live/socket";
import { htmx } from "../page/htmx";
import { coalesced } from "../page/refresh";

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const REFRESH_MS = 1_000;

export function startRuns(): void {
  for (const list of document.querySelectorAll<HTMLElement>("[data-runs-socket]")) follow(list);
}

function follow(list: HTMLElement): void {
  const url = socketUrl(list.dataset.runsSocket || "/ws/runs/", location);
  const refresh = coalesced(() => htmx()?.trigger(list, "studio:refresh"), REFRESH_MS);
  let failures = 0;

  const connect = (): void => {
    const socket = new WebSocket(url);
    socket.onopen = () => {
      if (failures > 0) refresh(); // what happened meanwhile was not heard
      failures = 0;
    };
    socket.onmessage = (event) => {
      if (isBell(event.data)) refresh();
    };
    socket.onclose = (event) => {
      if (event.code === 4401 || event.code === 4404) return;
      const wait = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS) * (0.5 + Math.random() / 2);
      failures += 1;
      setTimeout(connect, wait);
    };
  };
  connect();
}

/** Whether a frame says that there is something new to fetch: in the list of runs, or among the events of all trails. */
export function isBell(data: unknown): boolean {
  try {
    const kind = (JSON.parse(String(data)) as { t?: unknown } | null)?.t;
    return kind === "runs" || kind === "audit";
  } catch {
    return false;
  }
}
