/*
 * What belongs to the chosen profile: `[data-of="ultra direct"]` is shown while one of these is chosen.
 *
 * A field in it that is hidden is left out of what is sent; what was ticked in it is remembered.
 */

export function startProfiles(): void {
  show();
  document.addEventListener("change", (event) => {
    if ((event.target as Element).matches('[name="profile"]')) show();
  });
  addEventListener("pageshow", show); // a page that comes back has its fields as they were left
}

function show(): void {
  const chosen = chosenProfile();
  if (chosen === null) return;
  for (const part of document.querySelectorAll<HTMLElement>("[data-of]")) {
    part.hidden = !(part.dataset.of ?? "").split(" ").includes(chosen);
    for (const field of part.querySelectorAll("input")) field.disabled = part.hidden;
  }
}

function chosenProfile(): string | null {
  const field = document.querySelector<HTMLInputElement | HTMLSelectElement>('select[name="profile"], [name="profile"]:checked');
  return field?.value ?? null;
}
