/* The command palette: what can be done here, then where one can go, then runs; by text, and by keys alone. */
import { actionsOf, fitting, type Action } from "./actions";
import { Choices } from "./choices";
import { made } from "./made";
import { showShortcuts } from "./shortcuts";

const PAUSE_MS = 120;

export class Palette {
  private readonly field = made("input", { role: "combobox", "aria-label": "Do, go or find", autocomplete: "off", spellcheck: "false" });
  private readonly here = made("div", { role: "presentation" });
  private readonly beyond = made("div", { role: "presentation" });
  private readonly list = made("div", { role: "listbox", id: "palette-list", "aria-label": "Choices" }, this.here, this.beyond);
  private readonly nothing = made("p", { class: "nothing muted", role: "status" });
  private readonly dialog = made("dialog", { class: "palette", "aria-label": "Command palette" }, this.field, this.list, this.nothing, hints());
  private readonly choices = new Choices(this.field, this.list);
  private actions: Action[] = [];
  private asking: AbortController | undefined;
  private pause: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    for (const [name, value] of [["aria-expanded", "true"], ["aria-controls", "palette-list"], ["aria-autocomplete", "list"]] as const) {
      this.field.setAttribute(name, value);
    }
    this.field.placeholder = "Do, go or find…";
    this.field.maxLength = 200;
    this.field.addEventListener("input", () => this.typed());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => this.click(event));
    this.list.addEventListener("pointermove", (event) => {
      const option = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (option !== null && option !== this.choices.marked()) this.choices.mark(option);
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.asking?.abort());
  }

  open(typed: string): void {
    if (this.dialog.open) return;
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    this.actions = actionsOf(document);
    this.field.value = typed;
    this.beyond.replaceChildren();
    this.showActions();
    this.dialog.showModal();
    void this.ask();
  }

  private typed(): void {
    this.showActions();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => void this.ask(), PAUSE_MS);
  }

  private showActions(): void {
    const found = fitting(this.actions, this.field.value);
    const heading = made("h3", { id: "palette-here", role: "presentation" }, document.querySelector("#head h1") ? "This run" : "This page");
    const options = found.map(({ label, element }, number) => {
      const option = made("div", { role: "option", id: `here-${number}`, "aria-selected": "false" }, made("span", { class: "clip" }, label));
      option.addEventListener("click", () => this.press(element));
      return option;
    });
    this.here.replaceChildren(...(options.length === 0 ? [] : [made("div", { role: "group", "aria-labelledby": "palette-here" }, heading, ...options)]));
    this.settle();
  }

  private async ask(): Promise<void> {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    try {
      const answer = await fetch(`/palette/?q=${encodeURIComponent(this.field.value)}`, {
        headers: { "HX-Request": "true", "HX-Current-URL": location.href },
        signal: asking.signal,
      });
      const elsewhere = answer.headers.get("HX-Redirect"); // signed out meanwhile
      if (elsewhere !== null) return location.assign(elsewhere);
      if (!answer.ok) throw new Error(String(answer.status));
      this.beyond.innerHTML = await answer.text();
      this.settle();
    } catch {
      if (asking.signal.aborted) return;
      this.beyond.replaceChildren();
      this.settle("The studio does not answer. What can be done on this page is listed all the same.");
    }
  }

  /** The first choice is marked, unless another one still is; where there is none, that is said. */
  private settle(trouble = ""): void {
    const all = this.choices.all();
    const marked = this.choices.marked();
    this.choices.mark(marked ?? all[0] ?? null);
    this.list.hidden = all.length === 0;
    this.nothing.textContent = trouble || (all.length === 0 ? "Nothing fits." : "");
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.choices.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.choose(this.choices.marked(), event.ctrlKey || event.metaKey);
    } else if (event.key === "?" && this.field.value === "") {
      event.preventDefault();
      this.dialog.close();
      showShortcuts();
    }
  }

  private choose(option: HTMLElement | null, isBeside: boolean): void {
    if (option instanceof HTMLAnchorElement && isBeside) window.open(option.href);
    else option?.click();
  }

  private click(event: Event): void {
    const link = (event.target as Element).closest("a");
    if (link !== null) this.dialog.close(); // an address of this very page loads nothing
  }

  /** Close first: the focus returns, and what is pressed may open something that takes it. */
  private press(element: HTMLElement): void {
    this.dialog.close();
    if (!element.isConnected) return;
    element.focus();
    element.click();
  }
}

function hints(): HTMLElement {
  const key = (name: string): HTMLElement => made("kbd", {}, name);
  return made("footer", { class: "muted" }, key("↑"), key("↓"), " choose ", key("Enter"), " do or go ", key("Esc"), " close ", key("?"), " all keys");
}
