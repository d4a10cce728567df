/* The state of the connection, in the page's foot. */
import type { Line } from "../live/socket";
import { count } from "../numbers";

export function describeLine(line: Line, seq: number): string {
  switch (line) {
    case "connecting":
      return "connecting";
    case "live":
      return `live, event ${count(seq)}`;
    case "reconnecting":
      return `reconnecting, will resume at ${count(seq)}`;
    case "ended":
      return `ended at event ${count(seq)}`;
    case "signed-out":
      return "signed out: sign in again to follow";
    case "gone":
      return "this run cannot be followed";
  }
}

export function showLine(line: Line, seq: number): void {
  const foot = document.getElementById("live");
  if (foot === null) return;
  tell(foot, describeLine(line, seq), line);
}

/** In the place of that: what is shown is not the present. */
export function showReplay(words: string): void {
  const foot = document.getElementById("live");
  if (foot !== null) tell(foot, `replaying: ${words}`, "replaying");
}

function tell(foot: HTMLElement, text: string, state: string): void {
  if (foot.textContent !== text) foot.textContent = text;
  foot.dataset.state = state;
}
