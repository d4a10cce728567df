/* The list of shortcuts: those of the page first, then those that hold everywhere. */
import { SHORTCUTS, type Group } from "../studio/shortcuts";
import { made } from "./made";

let dialog: HTMLDialogElement | undefined;

export function showShortcuts(): void {
  dialog?.remove();
  const close = made("button", { type: "button", class: "quiet", autofocus: "" }, "Close");
  const title = made("h2", { id: "keys-title" }, "Keys");
  const groups = SHORTCUTS.filter(holdsHere).map(section);
  dialog = made("dialog", { class: "palette keys", "aria-labelledby": "keys-title" }, made("header", { class: "row" }, title, made("span", { class: "spacer" }), close), ...groups);
  close.addEventListener("click", () => dialog?.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog?.close());
  document.body.append(dialog);
  dialog.showModal();
}

const holdsHere = ({ where }: Group): boolean => where === undefined || document.querySelector(where) !== null;

function section({ name, keys }: Group): HTMLElement {
  const rows = keys.map(({ keys: pressed, does }) =>
    made("div", {}, made("dt", {}, ...pressed.split(" ").flatMap((key) => [made("kbd", {}, key), " "])), made("dd", {}, does)),
  );
  return made("section", {}, made("h3", {}, name), made("dl", {}, ...rows));
}
