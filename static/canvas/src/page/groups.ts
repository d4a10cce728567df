/*
 * The groups of the outline fold with those of the graph: `details[data-fold]` names the round, or the nested run's step.
 *
 * A click on its summary (Enter and space are clicks, too) turns the fold, and the fold turns the element: a part of the
 * page that is fetched again comes as the server knows it, and is then folded as the person left it.
 */
import type { Folds } from "../canvas/folds";

/** @returns what folds and unfolds whatever has come into the page. */
export function foldOutline(folds: Folds): () => void {
  const show = (): void => {
    for (const group of document.querySelectorAll<HTMLDetailsElement>("details[data-fold]")) {
      group.open = folds.isOpen(group.dataset.fold ?? "");
    }
  };
  document.addEventListener("click", (event) => {
    const group = (event.target as Element).closest("summary")?.parentElement;
    if (event.defaultPrevented || group?.dataset.fold === undefined) return;
    event.preventDefault();
    folds.toggle(group.dataset.fold);
  });
  folds.watch(show);
  return show;
}
