/* The little of htmx that is used here. The page loads htmx itself; it may be late, or missing. */

type Htmx = {
  trigger(target: Element, event: string): void;
  ajax(
    verb: "GET" | "POST",
    path: string,
    options: { source?: Element; target: Element; swap: string; values?: FormData },
  ): Promise<void>;
};

declare global {
  interface Window {
    htmx?: Htmx;
  }
}

export const htmx = (): Htmx | undefined => window.htmx;

/** Call `then` whenever a part of the page has been replaced and has come to rest. Both htmx 2 and 4 are heard. */
export function afterSettle(then: () => void): void {
  for (const name of ["htmx:afterSettle", "htmx:after:settle", "htmx:after:swap"]) {
    document.addEventListener(name, then);
  }
}

/** Call `then` whenever a request made by `element` is over, well or badly. */
export function afterRequest(element: () => Element | null, then: () => void): void {
  for (const name of ["htmx:afterRequest", "htmx:after:request"]) {
    document.addEventListener(name, (event) => {
      if (event.target === element()) then();
    });
  }
}

type Answered = { xhr?: { getResponseHeader(name: string): string | null } };

/** Once another page is on its way, by a plain form or by an answer that leads there, ask for nothing more. */
export function askNothingWhenLeaving(isLeaving: (form: Element) => boolean): void {
  let leaving = false;
  document.addEventListener("submit", (event) => {
    if (isLeaving(event.target as Element)) leaving = true;
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const { xhr } = (event as CustomEvent<Answered>).detail;
    if (xhr?.getResponseHeader("HX-Redirect")) leaving = true;
  });
  // A page that the browser has kept comes back as it was left.
  addEventListener("pageshow", () => (leaving = false));
  for (const name of ["htmx:beforeRequest", "htmx:before:request"]) {
    document.addEventListener(name, (event) => {
      if (leaving) event.preventDefault();
    });
  }
}
