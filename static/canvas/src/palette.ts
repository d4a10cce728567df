/* The command palette and the list of shortcuts, opened by `studio:open`. See studio/palette.ts. */
import { Palette } from "./palette/palette";
import { showShortcuts } from "./palette/shortcuts";
import type { Opened } from "./studio/palette";

const palette = new Palette();

document.addEventListener("studio:open", (event) => {
  if ((event as CustomEvent<Opened>).detail === "palette") palette.open();
  else showShortcuts();
});
