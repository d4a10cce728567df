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
  const text = describeLine(line, seq);
  if (foot.textContent !== text) foot.textContent = text;
  foot.dataset.state = line;
}
