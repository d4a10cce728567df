/* Offers under the filter while it is written: arrow keys mark one, Enter or Tab takes it, Escape does without. */
import { Choices } from "../palette/choices";
import { made } from "../palette/made";
import { readJson } from "../workers";
import { offersAt, taken, type Offer, type Offered } from "./completing";

export function startSuggestions(): void {
  const field = document.querySelector<HTMLInputElement>("#q");
  const list = document.getElementById("suggestions");
  const offered = readJson<Offered>("offered");
  if (field !== null && list !== null && offered !== null) new Suggestions(field, list, offered);
}

class Suggestions {
  private offers: Offer[] = [];
  private readonly choices: Choices;

  constructor(
    private readonly field: HTMLInputElement,
    private readonly list: HTMLElement,
    private readonly offered: Offered,
  ) {
    this.choices = new Choices(field, list);
    for (const [name, value] of [["role", "combobox"], ["aria-controls", list.id], ["aria-autocomplete", "list"]] as const) {
      field.setAttribute(name, value);
    }
    this.close();
    field.addEventListener("input", () => this.show());
    field.addEventListener("blur", () => this.close());
    field.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const option = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (option !== null) this.take(option);
    });
  }

  private show(): void {
    this.offers = offersAt(this.field.value, this.field.selectionStart ?? this.field.value.length, this.offered);
    this.list.replaceChildren(
      ...this.offers.map(({ label, hint }, number) =>
        made("div", { role: "option", id: `suggestion-${number}`, "aria-selected": "false" }, made("b", {}, label), made("span", { class: "muted clip" }, hint)),
      ),
    );
    this.list.hidden = this.offers.length === 0;
    this.field.setAttribute("aria-expanded", String(this.offers.length > 0));
    this.field.removeAttribute("aria-activedescendant");
  }

  private close(): void {
    this.offers = [];
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  private key(event: KeyboardEvent): void {
    if (this.list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.choices.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      event.preventDefault(); // which would empty the field
      this.close();
    } else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) {
      const marked = this.choices.marked();
      if (marked === null) return this.close();
      event.preventDefault();
      this.take(marked);
    }
  }

  private take(option: HTMLElement): void {
    const offer = this.offers[this.choices.all().indexOf(option)];
    if (offer === undefined) return;
    const now = taken(this.field.value, this.field.selectionStart ?? this.field.value.length, offer);
    this.field.value = now.text;
    this.field.setSelectionRange(now.caret, now.caret);
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
