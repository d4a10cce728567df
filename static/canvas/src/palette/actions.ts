/* What can be done on the page that is open: its own buttons and links, under the words they have there. */

export type Action = { label: string; element: HTMLElement };

const MOST = 40;

/** `data-palette` names an action in other words than its button, and lets anything be one. */
const ACTIONS = [
  "[data-palette]",
  "main header :is(a.button, button)",
  "main header .menu :is(a, button)",
  "main .actions :is(a, button)",
  "main form.composer footer button",
].join(", ");
const WAYS = "main nav.tabs[aria-label=Views] a";

export function actionsOf(page: ParentNode): Action[] {
  const found = new Map<string, HTMLElement>();
  for (const element of page.querySelectorAll<HTMLElement>(`${ACTIONS}, ${WAYS}`)) {
    const label = labelOf(element);
    if (label !== "" && canBePressed(element) && !found.has(label)) found.set(label, element);
  }
  return [...found].slice(0, MOST).map(([label, element]) => ({ label, element }));
}

/** Those whose label has every word of `typed`. */
export function fitting(actions: readonly Action[], typed: string): Action[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return actions.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

function labelOf(element: HTMLElement): string {
  const own = element.dataset.palette || element.getAttribute("aria-label") || element.querySelector("b")?.textContent;
  const said = (own || element.textContent || "").replace(/\s+/g, " ").trim();
  const nav = element.matches(WAYS) ? element.closest("nav")?.getAttribute("aria-label") : null;
  return nav && said ? `${nav}: ${said}` : said;
}

/** What is in a menu that is closed can be pressed; what is off, or is where one is already, cannot. */
function canBePressed(element: HTMLElement): boolean {
  if (element.matches(":disabled, [aria-disabled=true], [aria-current]")) return false;
  return element.closest("[hidden], dialog, tbody, [data-no-palette]") === null;
}
