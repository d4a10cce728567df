/*
 * A table as one stop for the keyboard: Tab leads to the cell that was last looked at, arrow keys from cell to cell.
 *
 * What can be done in a cell is a link in it, which Enter follows; of a cell without one Enter follows that of its row.
 */

type Place = { row: number; column: number };

const MOVES: Readonly<Record<string, (at: Place) => Place>> = {
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }) => ({ row, column: Infinity }),
};

/** Take care of every `[data-grid]` of the page. @returns what makes one stop of those that have just come into it. */
export function gridKeys(): () => void {
  let last: string | null = null;
  document.addEventListener("keydown", (event) => {
    const grid = (event.target as Element).closest<HTMLTableElement>("[data-grid]");
    if (grid === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (move(grid, event) || follow(event)) event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    const stop = event.target as HTMLElement;
    const grid = stop.closest<HTMLTableElement>("[data-grid]");
    if (grid === null) return;
    last = stop.id;
    makeOnly(grid, stop);
  });
  return () => {
    for (const grid of document.querySelectorAll<HTMLTableElement>("[data-grid]")) {
      const kept = last === null ? null : document.getElementById(last);
      const chosen = grid.querySelector<HTMLElement>('[aria-current="true"]');
      makeOnly(grid, kept ?? chosen ?? stopAt(grid, { row: 0, column: 0 }));
    }
  };
}

function move(grid: HTMLTableElement, event: KeyboardEvent): boolean {
  const to = MOVES[event.key];
  const cell = (event.target as Element).closest("td, th");
  const row = cell?.parentElement ?? null;
  if (to === undefined || cell === null || row === null) return false;
  const at = { row: rowsOf(grid).indexOf(row), column: Array.from(row.children).indexOf(cell) };
  stopAt(grid, to(at))?.focus();
  return true;
}

/** A space presses what Enter would; in a cell that may not be read both show the step that may not read. */
function follow(event: KeyboardEvent): boolean {
  if (event.key !== " " && event.key !== "Enter") return false;
  const target = event.target as HTMLElement;
  if (target.matches("a")) {
    if (event.key === " ") target.click();
    return event.key === " ";
  }
  target.closest("tr")?.querySelector("a")?.click();
  return true;
}

/** What takes the focus at a place, or the last before it in its row; none outside the table. */
function stopAt(grid: HTMLTableElement, { row, column }: Place): HTMLElement | null {
  const stops = Array.from(rowsOf(grid)[row]?.children ?? []).flatMap((cell) => stopIn(cell as HTMLElement) ?? []);
  return column < 0 ? null : (stops[Math.min(stops.length - 1, column)] ?? null);
}

const rowsOf = (grid: Element): Element[] => Array.from(grid.querySelectorAll("tbody > tr"));

const stopIn = (cell: HTMLElement): HTMLElement | null => cell.querySelector("a") ?? (cell.id === "" ? null : cell);

function makeOnly(grid: HTMLTableElement, stop: HTMLElement | null): void {
  if (stop === null) return;
  for (const other of grid.querySelectorAll<HTMLElement>('tbody a:not([tabindex="-1"]), td[tabindex="0"]')) {
    other.tabIndex = -1;
  }
  for (const cell of grid.querySelectorAll<HTMLElement>("td[id]:not([tabindex])")) cell.tabIndex = -1;
  stop.tabIndex = 0;
}
