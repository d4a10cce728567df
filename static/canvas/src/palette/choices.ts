/* The marked choice of a list of options: moved by arrow keys, told to whoever reads the field that moves it. */

export class Choices {
  constructor(
    private readonly field: HTMLElement,
    private readonly list: HTMLElement,
  ) {}

  all(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>("[role=option]")];
  }

  marked(): HTMLElement | null {
    return this.list.querySelector<HTMLElement>('[role=option][aria-selected="true"]');
  }

  mark(option: HTMLElement | null): void {
    for (const each of this.all()) each.setAttribute("aria-selected", String(each === option));
    if (option === null) this.field.removeAttribute("aria-activedescendant");
    else this.field.setAttribute("aria-activedescendant", option.id);
    option?.scrollIntoView({ block: "nearest" });
  }

  /** Mark the option `by` places on, round the ends. */
  move(by: 1 | -1): void {
    const all = this.all();
    const marked = this.marked();
    const at = marked === null ? (by === 1 ? -1 : 0) : all.indexOf(marked);
    this.mark(all[(at + by + all.length) % all.length] ?? null);
  }
}
