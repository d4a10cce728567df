/* The one selection of a page: kept in its address, so that a link or a reload shows the same. */
import type { Selection } from "../canvas/model";
import type { Store } from "../store";

/** What `address` selects: `?step=s2` a step (`s2/s1` one of the run within it), `?edge=s1:s2` what s2 reads of s1. */
export function selectionIn(address: string): Selection {
  const asked = new URL(address).searchParams;
  const [source, reader] = (asked.get("edge") ?? "").split(":");
  if (source && reader) return { step: reader, edge: { source, reader } };
  return { step: asked.get("step") || null, edge: null };
}

/** `address` with `selection` in it; the tab that is open stays. */
export function withSelection(address: string, { step, edge }: Selection): string {
  const url = new URL(address);
  url.searchParams.delete("edge");
  if (step === null) url.searchParams.delete("step");
  else url.searchParams.set("step", step);
  if (edge !== null) {
    for (const name of ["step", "tab"]) url.searchParams.delete(name);
    url.searchParams.set("edge", `${edge.source}:${edge.reader}`);
  }
  return url.href.replaceAll("%3A", ":").replaceAll("%2F", "/");
}

export function keepInUrl(selection: Selection): void {
  const address = withSelection(location.href, selection);
  if (address !== location.href) history.replaceState(history.state, "", address);
}

/** Mark the item of the selected step wherever the page lists steps. */
export function markOutline(step: string | null): void {
  for (const item of document.querySelectorAll<HTMLElement>("[data-step]")) {
    if (item.dataset.step === step) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
}

export function scrollOutlineTo(step: string): void {
  document.querySelector(`[data-step="${CSS.escape(step)}"]`)?.scrollIntoView({ block: "nearest" });
}

/** A plain click on a link to a step selects it here (to none, where it names none); with a modifier it stays a link. */
export function selectByClick(select: (step: string | null) => void): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const target = event.target as Element;
    const item = target.closest<HTMLElement>("[data-step]");
    if (item?.dataset.step === undefined || isForAnother(target, item)) return;
    event.preventDefault();
    select(item.dataset.step || null);
  });
}

/** A control inside the item that does something else than show the step. */
function isForAnother(target: Element, item: Element): boolean {
  const control = target.closest("a, button, input, select, textarea, label, summary");
  return control !== null && control !== item && item.contains(control) && !control.matches('a[href*="step="]');
}

/** j and k go to the next and the previous of `keys`. */
export function selectByKeys(keys: () => readonly string[], selected: Pick<Store<string | null>, "get" | "set">): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "j" && event.key !== "k") return;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const next = stepAfter(keys(), selected.get(), event.key === "j" ? 1 : -1);
    if (next === null) return;
    event.preventDefault();
    selected.set(next);
    scrollOutlineTo(next);
  });
}

/** The key `by` places from `at`, held within the list; from nowhere, the first or the last. */
export function stepAfter(keys: readonly string[], at: string | null, by: 1 | -1): string | null {
  const index = at === null ? -1 : keys.indexOf(at);
  if (index < 0) return keys.at(by === 1 ? 0 : -1) ?? null;
  return keys[Math.min(keys.length - 1, Math.max(0, index + by))] ?? null;
}

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
