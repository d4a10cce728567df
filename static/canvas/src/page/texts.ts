/*
 * Streamed texts in the page: every `[data-stream]` element shows what its stream has said so far.
 *
 * Text is only ever appended as text. Elements come and go with htmx, so after each swap they are found again.
 */
import type { Streams } from "../live/streams";
import type { Follow } from "./follow";

export class Texts {
  private readonly shown = new WeakMap<HTMLElement, number>();
  private readonly grown = new Set<string>();
  private isWaiting = false;

  constructor(
    private readonly streams: Streams,
    private readonly follow: Pick<Follow, "attach" | "grew">,
    private readonly soon: (then: () => void) => void = (then) => void requestAnimationFrame(then),
  ) {}

  grew(stream: string): void {
    this.grown.add(stream);
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.soon(() => this.show());
  }

  /** Give elements that have just come into the page the text so far. */
  find(): void {
    for (const element of document.querySelectorAll<HTMLElement>("[data-stream]")) {
      if (!this.shown.has(element)) this.append(element);
    }
  }

  /** Stop the cursor of a stream to which nothing will be added. */
  close(stream: string): void {
    for (const element of elementsOf(stream)) element.removeAttribute("data-writing");
  }

  private show(): void {
    this.isWaiting = false;
    for (const stream of this.grown) for (const element of elementsOf(stream)) this.append(element);
    this.grown.clear();
  }

  private append(element: HTMLElement): void {
    const stream = element.dataset.stream ?? "";
    const text = this.streams.text(stream);
    if (text === "") return; // what the server has put there is all we know
    const shown = this.shown.get(element);
    if (shown === undefined) element.textContent = text;
    else if (text.length > shown) textNodeOf(element).appendData(text.slice(shown));
    this.shown.set(element, text.length);
    if (shown === undefined) {
      element.setAttribute("data-writing", "");
      this.follow.attach(element, stream);
    } else {
      this.follow.grew(element, stream);
    }
  }
}

const elementsOf = (stream: string): NodeListOf<HTMLElement> =>
  document.querySelectorAll<HTMLElement>(`[data-stream="${CSS.escape(stream)}"]`);

function textNodeOf(element: HTMLElement): Text {
  const last = element.lastChild;
  return last instanceof Text ? last : element.appendChild(document.createTextNode(""));
}
