/*
 * Follow a growing text at the bottom of its scroller, until the reader scrolls up.
 *
 * What the reader decided is kept by stream, not by element: the page around a text is fetched again now and then,
 * and must not pull the reader back to the end.
 */

const NEAR_END_PX = 32;

type Reading = { isPaused: boolean; top: number };

export class Follow {
  private readonly readings = new Map<string, Reading>();
  private readonly watched = new WeakSet<Element>();

  /** Take over `element`, which shows `stream`: to where the reader was in it, or to its end. */
  attach(element: HTMLElement, stream: string): void {
    const scroller = scrollerOf(element);
    const reading = this.reading(stream);
    if (!this.watched.has(element)) {
      this.watched.add(element);
      const scrolled = (): void => {
        if (element.isConnected) this.scrolled(scroller, stream, element);
        else scroller.removeEventListener("scroll", scrolled);
      };
      scroller.addEventListener("scroll", scrolled, { passive: true });
      jumpButton(element, stream)?.addEventListener("click", () => this.jump(element, stream));
    }
    if (reading.isPaused) scroller.scrollTop = reading.top;
    else this.toEnd(scroller);
    this.showJump(element, stream);
  }

  grew(element: HTMLElement, stream: string): void {
    if (!this.reading(stream).isPaused) this.toEnd(scrollerOf(element));
  }

  private jump(element: HTMLElement, stream: string): void {
    this.readings.set(stream, { isPaused: false, top: 0 });
    this.toEnd(scrollerOf(element));
    this.showJump(element, stream);
  }

  private scrolled(scroller: HTMLElement, stream: string, element: HTMLElement): void {
    const before = this.reading(stream);
    const isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR_END_PX;
    const isUpwards = scroller.scrollTop < before.top;
    const isPaused = isAtEnd ? false : before.isPaused || isUpwards;
    this.readings.set(stream, { isPaused, top: scroller.scrollTop });
    if (isPaused !== before.isPaused) this.showJump(element, stream);
  }

  private toEnd(scroller: HTMLElement): void {
    scroller.scrollTop = scroller.scrollHeight;
  }

  private reading(stream: string): Reading {
    return this.readings.get(stream) ?? { isPaused: false, top: 0 };
  }

  private showJump(element: HTMLElement, stream: string): void {
    const button = jumpButton(element, stream);
    if (button !== null) button.hidden = !this.reading(stream).isPaused;
  }
}

/** `[data-jump="a12"]` anywhere, else the plain `[data-jump]` nearest around the text. */
function jumpButton(element: HTMLElement, stream: string): HTMLElement | null {
  const named = document.querySelector<HTMLElement>(`[data-jump="${CSS.escape(stream)}"]`);
  if (named !== null) return named;
  for (let around = element.parentElement; around !== null; around = around.parentElement) {
    const button = around.querySelector<HTMLElement>('[data-jump=""]');
    if (button !== null) return button;
  }
  return null;
}

function scrollerOf(element: HTMLElement): HTMLElement {
  for (let at: HTMLElement | null = element; at !== null && at !== document.body; at = at.parentElement) {
    if (at.hasAttribute("data-scroll") || /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.documentElement;
}
