/* The steps that the page lists: from difference to difference by keys, and to the one that is chosen in the graph. */
import { isTyping } from "../page/selection";

const DIFFERENT = '[data-difference]:not([data-difference="same"])';

/** What differs, in the order of the page. */
export const differences = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(`main ${DIFFERENT}[id]`)];

/** Of `all` the one `by` places from `at`; from elsewhere the first below (or the last above) where one has scrolled to. */
export function nextOf(all: readonly HTMLElement[], at: HTMLElement | null, by: 1 | -1): HTMLElement | null {
  const index = at === null ? -1 : all.indexOf(at);
  if (index >= 0) return all[index + by] ?? null;
  const isBelow = (each: HTMLElement): boolean => each.getBoundingClientRect().top > 0;
  return (by === 1 ? all.find(isBelow) : all.filter((each) => !isBelow(each)).at(-1)) ?? null;
}

/** Lead to `row`: open it, give it the focus, and keep it in the address. */
export function show(row: HTMLElement): void {
  if (row instanceof HTMLDetailsElement) row.open = true;
  (row.querySelector<HTMLElement>("summary") ?? row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "start" });
  history.replaceState(history.state, "", `#${row.id}`);
}

/** n and p lead to the next and the previous difference. */
export function goByKeys(shown: (row: HTMLElement) => void): void {
  let last: HTMLElement | null = null;
  document.addEventListener("focusin", (event) => {
    last = (event.target as Element).closest<HTMLElement>(DIFFERENT) ?? last;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "n" && event.key !== "p") return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const row = nextOf(differences(), last?.isConnected ? last : null, event.key === "n" ? 1 : -1);
    if (row === null) return;
    event.preventDefault();
    last = row;
    show(row);
    shown(row);
  });
}
