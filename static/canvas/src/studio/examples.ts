/* Examples fill the task box without leaving the page; what was written before can be put back. */

export function startExamples(): void {
  let written = "";

  document.addEventListener("click", (event) => {
    const box = document.querySelector<HTMLTextAreaElement>("textarea#task");
    const target = event.target as Element;
    const example = target.closest<HTMLElement>("[data-example]")?.dataset.example;
    const isPutBack = target.closest("[data-put-back]") !== null;
    if (box === null || isElsewhere(event) || (example === undefined && !isPutBack)) return;

    event.preventDefault();
    if (example !== undefined && box.value.trim() !== "" && !isExample(box.value)) written = box.value;
    fill(box, example ?? written);
    for (const button of document.querySelectorAll<HTMLElement>("[data-put-back]")) {
      button.hidden = isPutBack || written === "";
    }
  });
}

function fill(box: HTMLTextAreaElement, text: string): void {
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.focus();
}

/** A link opened in another tab or window replaces nothing. */
const isElsewhere = (event: MouseEvent): boolean =>
  event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;

const isExample = (text: string): boolean =>
  [...document.querySelectorAll<HTMLElement>("[data-example]")].some(({ dataset }) => dataset.example === text);
