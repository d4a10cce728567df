/*
 * The time to a call's first token while the call is still written: seen here, so marked as an estimate.
 *
 * `data-gone` holds the milliseconds since the call began when the server wrote the page, so that nobody's clock
 * matters. The provider's own figure comes with the result.
 */
import { seconds } from "../numbers";

/** Fill in what is known; `begunAt` says when the first text of a stream was seen to come, by the clock of `now`. */
export function showFirstTokens(
  begunAt: (stream: string) => number | undefined,
  now: () => number = () => performance.now(),
): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-first-token]")) {
    element.dataset.since ??= String(now() - Number(element.dataset.gone));
    const begun = begunAt(element.dataset.firstToken ?? "");
    if (begun === undefined) continue;
    const text = `≈ ${seconds(Math.max(0, begun - Number(element.dataset.since)))}`;
    if (element.textContent !== text) element.textContent = text;
  }
}
