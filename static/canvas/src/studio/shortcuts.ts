/* Every key that does something, in one place: what `?` lists, and where `g` and a letter lead. */

export type Keys = { readonly keys: string; readonly does: string };

/** Keys of a part of the studio; `where` is what a page must have for them to do something there. */
export type Group = { readonly name: string; readonly where?: string; readonly keys: readonly Keys[] };

export const PLACES: Readonly<Record<string, string>> = {
  c: "/",
  r: "/runs/",
  t: "/workflows/",
  w: "/workers/",
  o: "/conductors/",
  a: "/audit/",
};

export const SHORTCUTS: readonly Group[] = [
  {
    name: "The audit page",
    where: ".audit-page .events",
    keys: [
      { keys: "j k", does: "Go to the next or the previous event" },
      { keys: "Enter", does: "Open or close the event one is at" },
      { keys: "/", does: "Write a filter" },
      { keys: "Esc", does: "Close the event one is in" },
    ],
  },
  {
    name: "The list of runs",
    where: "#runs",
    keys: [
      { keys: "j k", does: "Mark the next or the previous run, and look at it beside the list" },
      { keys: "Enter", does: "Open the marked run" },
      { keys: "x", does: "Choose the marked run; two that are chosen can be compared" },
      { keys: "/", does: "Write a filter" },
      { keys: "Esc", does: "Close the look at a run" },
    ],
  },
  {
    name: "A run",
    where: "#canvas[data-mode=watch]",
    keys: [
      { keys: "j k", does: "Choose the next or the previous step" },
      { keys: "b", does: "Pause before the chosen step, or no longer" },
      { keys: "f", does: "Fold or unfold a round or a run within the run, in the graph" },
      { keys: "b", does: "Set a breakpoint at the chosen step, or take it away" },
      { keys: "↑ ↓ ← →", does: "Go from step to step in the graph, from cell to cell in the matrix, from event to event in time" },
      { keys: "Enter", does: "Choose what has the focus" },
    ],
  },
  {
    name: "Editing a workflow",
    where: "#canvas[data-mode=edit]",
    keys: [
      { keys: "a d", does: "Add a step, or duplicate the chosen one" },
      { keys: "Delete", does: "Remove the chosen step, or the access that has the focus" },
      { keys: "[ ]", does: "Move the chosen step up or down" },
      { keys: "i w", does: "Write its instruction, or choose its worker" },
      { keys: "m", does: "Change between graph and matrix" },
      { keys: "Ctrl Z", does: "Undo; with Shift, do again" },
    ],
  },
  {
    name: "Two runs beside each other",
    where: "[data-difference]",
    keys: [{ keys: "n p", does: "Go to the next or the previous difference" }],
  },
  {
    name: "Writing",
    where: "form[data-submit-keys]",
    keys: [{ keys: "Ctrl Enter", does: "Send what is written" }],
  },
  {
    name: "Everywhere",
    keys: [
      { keys: "Ctrl K", does: "Do something here, go somewhere, find a run" },
      { keys: "g c", does: "Go to Compose" },
      { keys: "g r", does: "Go to the runs" },
      { keys: "g t", does: "Go to the templates" },
      { keys: "g w", does: "Go to the workers" },
      { keys: "g o", does: "Go to the conductors" },
      { keys: "g a", does: "Go to the audit page, for those who audit" },
      { keys: "?", does: "Show these keys" },
    ],
  },
];
