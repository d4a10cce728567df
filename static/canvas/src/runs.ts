/* The list of runs: one marked by keys and looked at beside the list, two chosen to be compared, a filter completed. */
import { afterSettle } from "./page/htmx";
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
afterSettle(() => {
  cursor.settle();
  picks.settle();
  tellNews();
});
