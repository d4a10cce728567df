/* The views of the page, and that the address names the open one, whatever else is put into it. */

const NAMES = ["view", "at", "idle"];

/** `address`, leading to `view` with what is selected in it. */
export function toView(address: string, view: string): string {
  const url = new URL(address);
  for (const name of ["view", "idle", "after"]) url.searchParams.delete(name);
  if (view !== "graph") url.searchParams.set("view", view);
  if (view === "timeline" || view === "matrix") url.searchParams.delete("at");
  return readable(url);
}

/** `path`, which htmx is about to write into the address, with the view of `address` kept. */
export function keepingView(path: string, address: string): string {
  const [to, at] = [new URL(path, address), new URL(address)];
  if (to.pathname !== at.pathname) return path;
  for (const name of NAMES) {
    const kept = at.searchParams.get(name);
    if (kept !== null && !to.searchParams.has(name)) to.searchParams.set(name, kept);
  }
  return readable(to);
}

/** Let the ways to the other views lead to the same selection. */
export function aimTabs(): void {
  for (const tab of document.querySelectorAll<HTMLAnchorElement>("a[data-view]")) {
    tab.href = toView(location.href, tab.dataset.view ?? "graph");
  }
}

/** See that what htmx writes into the address leaves the view in it. */
export function keepView(): void {
  document.addEventListener("htmx:beforeHistoryUpdate", (event) => {
    const history = (event as CustomEvent<{ history?: { path?: string } }>).detail.history;
    if (history?.path !== undefined) history.path = keepingView(history.path, location.href);
  });
}

/** A plain click on an edge selects it here; with a modifier it stays a link. */
export function selectEdgeByClick(select: (edge: { source: string; reader: string }) => void): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const [source, reader] = (event.target as Element).closest<HTMLElement>("[data-edge]")?.dataset.edge?.split(":") ?? [];
    if (!source || !reader) return;
    event.preventDefault();
    select({ source, reader });
  });
}

/** Mark the chosen edge wherever the page lists edges. */
export function markEdge(edge: { source: string; reader: string } | null): void {
  const chosen = edge === null ? null : `${edge.source}:${edge.reader}`;
  for (const item of document.querySelectorAll<HTMLElement>("[data-edge]")) {
    if (item.dataset.edge === chosen) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
}

const readable = (url: URL): string => url.href.replaceAll("%3A", ":").replaceAll("%2F", "/");
