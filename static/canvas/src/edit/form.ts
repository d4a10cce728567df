/*
 * The form beside the canvas, which is what is really edited.
 *
 * An operation travels in its hidden field together with everything typed so far, one at a time: the answer replaces
 * the form, and the next operation must start from that.
 */
import { afterRequest, htmx } from "../page/htmx";
import type { Edit } from "./edits";

const WIDE = "(min-width: 1100px)";
/** What the form carries besides what a person has written: it is no part of what can be undone. */
const CARRIED = new Set(["csrfmiddlewaretoken", "edit", "submit_key", "resume", "seen", "draft", "version", "editor", "other"]);

type Restoring = { restore: string; then: (isDone: boolean) => void };

export class EditForm {
  private readonly waiting: (Edit | Restoring)[] = [];
  private isBusy = false;

  constructor() {
    afterRequest(form, () => this.answered());
  }

  post(edit: Edit): void {
    this.waiting.push(edit);
    if (!this.isBusy) this.next();
  }

  /** All that a person has written in the form, as one text. */
  state(): string {
    const element = form();
    if (element === null) return "";
    const written = [...new FormData(element)].flatMap(([name, value]): [string, string][] =>
      CARRIED.has(name) || typeof value !== "string" ? [] : [[name, value.replaceAll("\r\n", "\n")]],
    );
    return new URLSearchParams(written).toString();
  }

  /** Have the form say again what `state` told of it, once all that is under way is answered; `then` when it does. */
  restore(state: string, then: (isDone: boolean) => void): void {
    this.waiting.push({ restore: state, then });
    if (!this.isBusy) this.next();
  }

  /** Tick who may read whom, as if it were done in the form; false where there is no such box. */
  tick(reader: string, source: string, allowed: boolean): boolean {
    const box = document.getElementById(`${reader}-reads-${source}`);
    if (!(box instanceof HTMLInputElement)) return false;
    box.checked = allowed;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }

  /** Show the section of `step` alone where there is room beside the canvas, all of them elsewhere. */
  show(step: string | null): void {
    const isWide = matchMedia(WIDE).matches;
    for (const section of sections()) {
      const isShown = section.dataset.stepForm === step;
      section.hidden = isWide && step !== null && !isShown;
      section.toggleAttribute("data-selected", isShown);
    }
  }

  /** Put the cursor where the instruction of `step` is written, or where its worker is chosen. */
  focus(step: string, field: "instruction" | "worker" = "instruction"): void {
    sectionOf(step)?.querySelector<HTMLElement>(field === "worker" ? "select" : "textarea")?.focus();
  }

  /** Put the cursor where it is chosen how the answer is taken. */
  focusSink(): void {
    document.querySelector<HTMLElement>("[data-sink-form] input:checked")?.focus();
  }

  /** Show the beginning of the section that is shown alone: what had the focus before may have scrolled it away. */
  toTop(): void {
    if (!matchMedia(WIDE).matches) return;
    const top = (): void => document.querySelector("form#edit [data-scroll]")?.scrollTo({ top: 0 });
    top();
    requestAnimationFrame(top);
  }

  onResize(then: () => void): void {
    matchMedia(WIDE).addEventListener("change", then);
  }

  /** Tell which step's section the person works in. */
  onEnter(then: (step: string) => void): void {
    document.addEventListener("focusin", (event) => {
      const step = (event.target as Element).closest<HTMLElement>("[data-step-form]")?.dataset.stepForm;
      if (step !== undefined) then(step);
    });
  }

  private next(): void {
    const edit = this.waiting.shift();
    const element = form();
    const field = hidden(element);
    if (edit === undefined || element === null || field === null) return;
    const library = htmx();
    if ("restore" in edit) return void this.send(element, edit);
    field.value = JSON.stringify(edit);
    if (library === undefined) return element.requestSubmit();
    this.isBusy = true;
    library.trigger(element, "studio:edit");
  }

  /** Post what the form is to say in its place; without htmx there is nothing that remembers what it said. */
  private async send(element: HTMLFormElement, { restore, then }: Restoring): Promise<void> {
    const values = new FormData(element);
    for (const name of new Set(values.keys())) if (!CARRIED.has(name)) values.delete(name);
    for (const [name, value] of new URLSearchParams(restore)) values.append(name, value);
    values.set("restored", "1");
    this.isBusy = true;
    // The form has a button called "action", which stands in the way of its property of that name.
    const asked = htmx()?.ajax("POST", element.getAttribute("action") ?? "", { target: element, swap: "innerHTML", values });
    await asked?.then(() => then(true), () => then(false));
    this.answered();
  }

  private answered(): void {
    // A request that failed leaves the form in the page: its operation must not be sent again with the next one.
    const field = hidden(form());
    if (field !== null) field.value = "";
    this.isBusy = false;
    queueMicrotask(() => this.next());
  }
}

const form = (): HTMLFormElement | null => document.querySelector<HTMLFormElement>("form#edit");

const hidden = (element: HTMLFormElement | null): HTMLInputElement | null =>
  element?.querySelector<HTMLInputElement>("input[name=edit]") ?? null;

const sections = (): NodeListOf<HTMLElement> => document.querySelectorAll<HTMLElement>("[data-step-form]");

const sectionOf = (step: string): HTMLElement | null =>
  document.querySelector<HTMLElement>(`[data-step-form="${CSS.escape(step)}"]`);
