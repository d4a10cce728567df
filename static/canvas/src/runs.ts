/* The list of runs: one marked by keys and looked at beside the list, two chosen to be compared, a filter completed. */
import { Cursor } from "./runs/cursor";
import { keepSteady, tellNews } from "./runs/news";
import { Peek } from "./runs/peek";
import { Picks } from "./runs/picks";
import { startSuggestions } from "./runs/suggestions";

document.body.dataset.scripted = "";
const peek = new Peek();
const cursor = new Cursor(peek);
const picks = new Picks();

keepSteady();
startSuggestions();
for (const name of ["htmx:afterSettle", "htmx:after:settle", "htmx:after:swap"]) {
  document.addEventListener(name, (event) => {
    if ((event.target as Element).id !== "runs") return; // the look beside the list is no news of it
    cursor.settle();
    picks.settle();
    tellNews();
  });
}
