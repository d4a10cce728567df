/* Forms: Ctrl or Cmd with Enter submits, and nothing is submitted twice. */

/** A page that answers neither well nor badly must not keep its buttons dead for ever. */
const GIVE_UP_MS = 15_000;

export function startSubmit(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const form = (event.target as Element).closest<HTMLFormElement>("form[data-submit-keys]");
    if (form === null) return;
    event.preventDefault();
    if (buttons(form).some((button) => !button.matches(":disabled"))) form.requestSubmit();
  });

  // In the capture phase and by a mark on the form: a disabled button would be left out of what is sent.
  document.addEventListener(
    "submit",
    (event) => {
      const form = event.target as HTMLFormElement;
      if (form.method === "dialog") return;
      if (form.dataset.submitted !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      mark(form);
      // Somebody else may have kept it from being sent. (htmx does too, but it tells when its request is over.)
      setTimeout(() => event.defaultPrevented && !isHtmx(form) && unmark(form));
    },
    true,
  );

  // htmx forms stay in the page, and so may those of a page that comes back from the back-forward cache.
  for (const name of ["htmx:afterRequest", "htmx:after:request"]) {
    document.addEventListener(name, (event) => {
      const form = (event.target as Element).closest("form");
      if (form !== null) unmark(form);
    });
  }
  addEventListener("pageshow", () => document.querySelectorAll<HTMLFormElement>("form[data-submitted]").forEach(unmark));
}

function mark(form: HTMLFormElement): void {
  form.dataset.submitted = "";
  for (const button of buttons(form)) button.setAttribute("aria-disabled", "true");
  setTimeout(() => unmark(form), GIVE_UP_MS);
}

function unmark(form: HTMLFormElement): void {
  delete form.dataset.submitted;
  for (const button of buttons(form)) button.removeAttribute("aria-disabled");
}

const isHtmx = (form: HTMLFormElement): boolean => form.matches("[hx-post], [hx-get], [data-hx-post], [data-hx-get]");

const buttons = (form: HTMLFormElement): HTMLElement[] =>
  [...form.elements].filter((element): element is HTMLElement => element.matches("button:not([type=button])"));
