/* Ask for parts of the page again, each at most four times a second however fast things change. */

export const AT_MOST_EVERY_MS = 250;

/** @returns a function that runs `act` now, or at the end of the pause that the last run began. */
export function coalesced(act: () => void, pauseMs: number = AT_MOST_EVERY_MS): () => void {
  let resting = false;
  let again = false;

  const run = (): void => {
    resting = true;
    again = false;
    act();
    setTimeout(() => {
      resting = false;
      if (again) run();
    }, pauseMs);
  };

  return () => {
    if (resting) again = true;
    else run();
  };
}
