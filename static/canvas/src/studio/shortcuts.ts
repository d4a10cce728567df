/* Every key that does something, in one place: what `?` lists, and where `g` and a letter lead. */

export type Keys = { readonly keys: string; readonly does: string };

/** Keys of a part of the studio; `where` is what a page must have for them to do something there. */
export type Group = { readonly name: string; readonly where?: string; readonly keys: readonly Keys[] };

export const PLACES: Readonly<Record<string, string>> = {
  c: "/",
  r: "/runs/",
  w: "/workers/",
  o: "/conductors/",
};

export const SHORTCUTS: readonly Group[] = [
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
      { keys: "f", does: "Fold or unfold a round or a run within the run, in the graph" },
      { keys: "b", does: "Set a breakpoint at the chosen step, or take it away" },
      { keys: "Enter", does: "Choose the step that has the focus, in the graph" },
    ],
  },
  {
    name: "Editing a workflow",
    where: "#canvas[data-mode=edit]",
    keys: [{ keys: "Delete", does: "Remove the step or the access that has the focus, in the graph" }],
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
      { keys: "g w", does: "Go to the workers" },
      { keys: "g o", does: "Go to the conductors" },
      { keys: "?", does: "Show these keys" },
    ],
  },
];
