/* What single keys do on the edit page. The legend under the graph says the same. */

export type KeyActions = {
  add(): void;
  duplicate(): void;
  remove(): void;
  move(by: 1 | -1): void;
  /** Put the cursor where the selected step's instruction is written, or where its worker is chosen. */
  write(field: "instruction" | "worker"): void;
  turn(): void;
  undo(): void;
  redo(): void;
};

export function onEditKeys(actions: KeyActions): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isWriting(event.target) || isAsking(event.target)) return;
    const action = actionOf(event, actions);
    if (action === null) return;
    event.preventDefault();
    action();
  });
}

function actionOf(event: KeyboardEvent, actions: KeyActions): (() => void) | null {
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) {
    const key = event.key.toLowerCase();
    if (key === "z") return event.shiftKey ? actions.redo : actions.undo;
    return key === "y" && !event.shiftKey ? actions.redo : null;
  }
  switch (event.key) {
    case "a":
      return actions.add;
    case "d":
      return actions.duplicate;
    case "Delete":
      return actions.remove;
    case "[":
      return () => actions.move(-1);
    case "]":
      return () => actions.move(1);
    case "i":
      return () => actions.write("instruction");
    case "w":
      return () => actions.write("worker");
    case "m":
      return actions.turn;
  }
  return null;
}

/** Where keys are text, or choose: a tick alone leaves the letters free. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox]):not([type=radio])"));

const isAsking = (target: EventTarget | null): boolean => target instanceof Element && target.closest("dialog") !== null;
