/* The two views of what is edited: the graph and the matrix. Which one is shown stands in the page's address. */
import type { Store } from "../store";

export type View = "graph" | "matrix";

export const viewIn = (address: string): View =>
  new URL(address).searchParams.get("view") === "matrix" ? "matrix" : "graph";

export function showViews(view: Store<View>, hosts: Record<View, HTMLElement>): void {
  const show = (): void => {
    for (const [name, host] of Object.entries(hosts)) host.hidden = name !== view.get();
    for (const button of buttons()) button.ariaPressed = `${button.dataset.view === view.get()}`;
    const url = new URL(location.href);
    if (view.get() === "graph") url.searchParams.delete("view");
    else url.searchParams.set("view", view.get());
    if (url.href !== location.href) history.replaceState(history.state, "", url.href);
  };
  for (const button of buttons()) button.addEventListener("click", () => view.set(button.dataset.view as View));
  view.watch(show);
  show();
}

const buttons = (): NodeListOf<HTMLElement> => document.querySelectorAll<HTMLElement>("button[data-view]");
