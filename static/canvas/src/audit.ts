/* The audit page: a filter completed, events marked by keys, and what is new said to those who do not see it. */
import { EventRows } from "./audit/rows";
import { startSuggestions } from "./runs/suggestions";

startSuggestions();
const rows = new EventRows();

for (const name of ["htmx:afterSettle", "htmx:after:settle", "htmx:after:swap"]) {
  document.addEventListener(name, () => {
    rows.settle();
    tellNews();
  });
}

let told = "";

/** Say how many events have come, and what is wrong with the filter. */
function tellNews(): void {
  const faults = [...document.querySelectorAll("#faults .error")].map((fault) => fault.textContent ?? "");
  document.getElementById("q")?.setAttribute("aria-invalid", String(faults.length > 0));
  const count = document.querySelector<HTMLElement>("[data-news]")?.dataset.news;
  const now = [...faults, ...(count ? [`${count} new ${count === "1" ? "event" : "events"}`] : [])].join(" ");
  const place = document.getElementById("told");
  if (place !== null && now !== told) place.textContent = now;
  told = now;
}
