/* Keys in the list of events: j and k go from one to the next, / goes to the filter, Escape closes what is open. */
import { isBusy } from "../studio/palette";

export class EventRows {
  constructor() {
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private opener: string | null = null;

  /** A row was replaced by itself, opened or closed: the focus stays on it. */
  settle(): void {
    if (this.opener !== null && document.activeElement === document.body) document.getElementById(this.opener)?.focus();
    this.opener = null;
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as Element;
    if (target.matches(".what > a") && (event.key === "Enter" || event.key === " ")) this.open(event, target as HTMLElement);
    if (event.ctrlKey || event.metaKey || event.altKey || isBusy(target)) return;
    if (event.key === "j" || event.key === "k") this.move(event, event.key === "j" ? 1 : -1);
    else if (event.key === "/") this.filter(event);
    else if (event.key === "Escape") this.close(target);
  }

  /** A space presses a button, which to the eye this link is. */
  private open(event: KeyboardEvent, link: HTMLElement): void {
    this.opener = link.id;
    if (event.key !== " ") return;
    event.preventDefault();
    link.click();
  }

  private move(event: KeyboardEvent, by: 1 | -1): void {
    const links = openers();
    const next = placeAfter(links.length, links.findIndex((link) => link.closest("tbody")?.contains(document.activeElement)), by);
    if (next === null) return;
    event.preventDefault();
    links[next]?.focus({ preventScroll: true });
    links[next]?.scrollIntoView({ block: "nearest" });
  }

  private filter(event: KeyboardEvent): void {
    const field = document.querySelector<HTMLInputElement>("#q");
    if (field === null) return;
    event.preventDefault();
    field.select();
  }

  private close(target: Element): void {
    const link = target.closest("tbody[data-open]")?.querySelector<HTMLElement>(".what > a");
    if (!link) return;
    this.opener = link.id;
    link.click();
  }
}

/** The place `by` after `at` among so many, held within them; from nowhere the first, or the last. */
export function placeAfter(count: number, at: number, by: 1 | -1): number | null {
  if (count === 0) return null;
  if (at < 0) return by === 1 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, at + by));
}

const openers = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>(".events .what > a")];
