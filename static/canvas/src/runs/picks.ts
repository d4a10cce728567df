/* The runs chosen to be compared. They stay chosen while the list is filtered, or fetched again. */
import { made } from "../palette/made";

export class Picks {
  private readonly codes = new Set<string>();
  private readonly bar = document.querySelector<HTMLFormElement>("#pair");

  constructor() {
    document.addEventListener("change", (event) => {
      const box = event.target as HTMLInputElement;
      if (!box.matches("[name=pick]")) return;
      if (box.checked) this.codes.add(box.value);
      else this.codes.delete(box.value);
      this.tell();
    });
    this.bar?.addEventListener("reset", () => {
      this.codes.clear();
      this.tell();
    });
    this.bar?.addEventListener("submit", (event) => this.codes.size === 2 || event.preventDefault());
    addEventListener("pageshow", () => this.find()); // a page that comes back has its boxes as they were left
    this.find();
  }

  /** The rows were replaced: what was chosen is ticked again. */
  settle(): void {
    for (const box of boxes()) box.checked = this.codes.has(box.value);
    this.tell();
  }

  private find(): void {
    for (const box of boxes()) if (box.checked) this.codes.add(box.value);
    this.tell();
  }

  private tell(): void {
    if (this.bar === null) return;
    const count = this.codes.size;
    this.bar.dataset.count = String(count);
    const said = this.bar.querySelector("#picked");
    if (said !== null) said.textContent = saidOf(count);
    this.bar.querySelector("button.primary")?.setAttribute("aria-disabled", String(count !== 2));
    this.bring();
  }

  /** Those whose row is not in the page go along with the form all the same. */
  private bring(): void {
    for (const old of this.bar?.querySelectorAll("input[type=hidden]") ?? []) old.remove();
    const shown = new Set(boxes().map((box) => box.value));
    const away = [...this.codes].filter((code) => !shown.has(code));
    this.bar?.append(...away.map((code) => made("input", { type: "hidden", name: "pick", value: code })));
  }
}

export const saidOf = (count: number): string =>
  count === 1 ? "1 run chosen: choose another one" : count === 2 ? "2 runs chosen" : `${count} runs chosen: only two can be compared`;

const boxes = (): HTMLInputElement[] => [...document.querySelectorAll<HTMLInputElement>("#runs [name=pick]")];
