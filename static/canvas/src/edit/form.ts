/*
 * The form beside the canvas, which is what is really edited.
 *
 * An operation travels in its hidden field together with everything typed so far, one at a time: the answer replaces
 * the form, and the next operation must start from that.
 */
import { afterRequest, htmx } from "../page/htmx";
import type { Edit } from "./edits";

const WIDE = "(min-width: 1100px)";

export class EditForm {
  private readonly waiting: Edit[] = [];
  private isBusy = false;

  constructor() {
    afterRequest(form, () => this.answered());
  }

  post(edit: Edit): void {
    this.waiting.push(edit);
    if (!this.isBusy) this.next();
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

  /** Put the cursor where the instruction of `step` is written. */
  focus(step: string): void {
    sectionOf(step)?.querySelector<HTMLElement>("textarea")?.focus();
  }

  /** Put the cursor where it is chosen how the answer is taken. */
  focusSink(): void {
    document.querySelector<HTMLElement>("[data-sink-form] input:checked")?.focus();
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
    field.value = JSON.stringify(edit);
    const library = htmx();
    if (library === undefined) return element.requestSubmit();
    this.isBusy = true;
    library.trigger(element, "studio:edit");
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
