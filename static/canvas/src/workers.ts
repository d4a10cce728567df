/* How the workers of the pool look: read once from the page. */

export type WorkerLook = { name: string; letter: string; colour: "a" | "b" | "c" | "d"; simulated: boolean };
export type Workers = Readonly<Record<string, WorkerLook>>;

export function readWorkers(): Workers {
  return readJson<Workers>("workers") ?? {};
}

/** The look of `slug`, also where the page does not know it: a worker may have been removed since. */
export function lookOf(workers: Workers, slug: string): WorkerLook {
  return workers[slug] ?? { name: slug, letter: (slug[0] ?? "?").toUpperCase(), colour: "a", simulated: false };
}

/** The JSON of `<script type="application/json" id=…>`, or null when there is none. */
export function readJson<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as T) : null;
}
