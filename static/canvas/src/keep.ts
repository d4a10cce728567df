/* A template's task: what is selected in it becomes a placeholder, whose name is selected next to be typed over. */

const LONGEST = 40;

/** A name that a placeholder may have, made from the words it takes the place of. */
export function nameOf(words: string): string {
  const plain = words.replace(/[^\p{L}\p{N}_ -]+/gu, " ").replace(/\s+/g, " ").trim();
  const name = plain.replace(/^[_ -]+/, "").slice(0, LONGEST).trim();
  return name === "" ? "value" : name;
}

export function mark(field: HTMLTextAreaElement): void {
  const { selectionStart: start, selectionEnd: end } = field;
  const name = nameOf(field.value.slice(start, end));
  field.setRangeText(`{${name}}`, start, end);
  field.focus();
  field.setSelectionRange(start + 1, start + 1 + name.length);
}

const button = document.querySelector<HTMLButtonElement>("[data-mark]");
const field = document.querySelector<HTMLTextAreaElement>("textarea#task");
if (button !== null && field !== null) {
  button.hidden = false;
  // The selection must not be lost to the button that is about it.
  button.addEventListener("mousedown", (event) => event.preventDefault());
  button.addEventListener("click", () => mark(field));
}
