/* The command palette and the list of shortcuts, opened by `studio:open`. See studio/palette.ts. */
import { Palette } from "./palette/palette";
import { showShortcuts } from "./palette/shortcuts";
import type { Opening } from "./studio/palette";

const palette = new Palette();

document.addEventListener("studio:open", (event) => {
  const { what, typed } = (event as CustomEvent<Opening>).detail;
  if (what === "palette") palette.open(typed);
  else showShortcuts();
});
