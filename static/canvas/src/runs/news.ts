/* The list is fetched again whenever something happens: not under somebody's hands, and what is new is said once. */

let told = "";

/** While a menu of the list is open, what it stands in is not replaced; what is missed is fetched with the next news. */
export function keepSteady(): void {
  for (const name of ["htmx:beforeRequest", "htmx:before:request"]) {
    document.addEventListener(name, (event) => {
      const list = document.getElementById("runs");
      if (event.target === list && list?.querySelector(":popover-open")) event.preventDefault();
    });
  }
}

/** Say how many new runs there are, and what is wrong with the filter, to those who do not see it. */
export function tellNews(): void {
  const faults = [...document.querySelectorAll("#faults .error")].map((fault) => fault.textContent ?? "");
  document.getElementById("q")?.setAttribute("aria-invalid", String(faults.length > 0));
  const news = document.querySelector<HTMLElement>("[data-news]")?.textContent?.replace("↑", "").trim();
  const now = [...faults, ...(news ? [`${news} ${news === "1 new" ? "run" : "runs"}`] : [])].join(" ");
  const place = document.getElementById("told");
  if (place !== null && now !== told) place.textContent = now;
  told = now;
}
