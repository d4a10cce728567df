/* `[data-copy="#id"]` copies the text of that element, or its value if it is a field. */

const SAID_MS = 1_600;

export function startCopy(): void {
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
    const source = button?.dataset.copy ? document.querySelector(button.dataset.copy) : null;
    if (button === null || source === null) return;
    void copy(button, textOf(source));
  });
}

async function copy(button: HTMLElement, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(button, "Copied");
  } catch {
    say(button, "Not copied"); // no permission, or no https
  }
}

function say(button: HTMLElement, text: string): void {
  const label = button.dataset.label ?? button.textContent ?? "";
  button.dataset.label = label;
  button.textContent = text;
  setTimeout(() => {
    button.textContent = label;
  }, SAID_MS);
}

const textOf = (source: Element): string =>
  source instanceof HTMLTextAreaElement || source instanceof HTMLInputElement ? source.value : (source.textContent ?? "");
