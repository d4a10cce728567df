/*
 * The keys that open the command palette and the list of shortcuts, and those that lead to another page.
 *
 * The palette is a bundle of its own, fetched when it is first asked for: few pages ever need it.
 */
import { PLACES } from "./shortcuts";

const SEQUENCE_MS = 1_500; // between `g` and the letter

export type Opened = "palette" | "shortcuts";

/** What is opened, and what was typed while it was fetched. */
export type Opening = { what: Opened; typed: string };

let awaited: Opening | null = null;

export function startPalette(go: (url: string) => void = (url) => location.assign(url)): void {
  let begun = -Infinity; // when `g` was pressed

  document.addEventListener("click", (event) => {
    const opener = (event.target as Element).closest("[data-palette-open]");
    if (opener === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void open("palette");
  });

  // In the capture phase: the letter after `g` is not to be taken for a shortcut of the page.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        if (opener() === null) return;
        event.preventDefault();
        void open("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (awaited !== null) return keep(event, awaited);
      if (isBusy(event.target) || opener() === null) return;
      const place = performance.now() - begun < SEQUENCE_MS ? PLACES[event.key] : undefined;
      begun = event.key === "g" ? performance.now() : -Infinity;
      if (place !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        go(place);
      } else if (event.key === "?") {
        event.preventDefault();
        void open("shortcuts");
      }
    },
    true,
  );
}

/** Who types on while the palette is fetched means the palette. */
function keep(event: KeyboardEvent, opening: Opening): void {
  event.preventDefault();
  event.stopPropagation();
  if (event.key.length === 1) opening.typed += event.key;
}

/** Whether keys are for somebody else: a field that is typed in, or a dialog. */
export function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])");
}

const opener = (): HTMLElement | null => document.querySelector<HTMLElement>("[data-palette-open]");

let loading: Promise<unknown> | undefined;

async function open(what: Opened): Promise<void> {
  if (awaited !== null) return;
  const opening = (awaited = { what, typed: "" });
  const link = opener();
  try {
    loading ??= Promise.all([import(/* @vite-ignore */ link?.dataset.script ?? ""), styled(link?.dataset.style ?? "")]);
    await loading;
    document.dispatchEvent(new CustomEvent<Opening>("studio:open", { detail: opening }));
  } catch {
    loading = undefined;
    if (what === "palette" && link instanceof HTMLAnchorElement) location.assign(link.href); // what it is without scripts
  } finally {
    awaited = null;
  }
}

function styled(href: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = href;
    link.onload = () => resolve();
    link.onerror = () => reject(new Error(href));
    document.head.append(link);
  });
}
