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
  const said = wordsOf(element);
  const about = element.matches(WAYS) ? (element.closest("nav")?.getAttribute("aria-label") ?? "") : menuOf(element);
  return about !== "" && said !== "" ? `${about}: ${said}` : said;
}

function wordsOf(element: HTMLElement): string {
  const own = element.dataset.palette || element.getAttribute("aria-label") || element.querySelector("b")?.textContent;
  return (own || element.textContent || "").replace(/\s+/g, " ").trim();
}

/** What the button says that opens the menu it stands in: `Re-run`; of one that shows a sign alone, nothing. */
function menuOf(element: HTMLElement): string {
  const menu = element.closest("[popover]");
  const opener = menu && document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
  const said = opener?.textContent?.replace("…", "").trim() ?? "";
  return /\p{L}/u.test(said) ? said : "";
}

/** What is in a menu that is closed can be pressed; what is off, unfilled, or where one is already, cannot. */
function canBePressed(element: HTMLElement): boolean {
  if (element.matches(":disabled, [aria-disabled=true], [aria-current]") || opensActions(element)) return false;
  if (element.closest("form")?.matches(":has(input[required]:placeholder-shown)")) return false;
  return element.closest("[hidden], dialog, tbody, [data-no-palette]") === null;
}

/** What stands in its menu is listed by itself. */
function opensActions(element: HTMLElement): boolean {
  const menu = element.getAttribute("popovertarget");
  return menu !== null && document.getElementById(menu)?.querySelector("a, button") != null;
}
