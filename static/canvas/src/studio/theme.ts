/* Light, dark, or as the system says: the person's choice, kept in this browser. */

const KEY = "theme";
const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const themeAfter = (theme: Theme): Theme => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";

export function startTheme(): void {
  apply(stored());
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-theme-toggle]");
    if (button === null) return;
    const wish = button.dataset.themeToggle as Theme | "";
    const theme = wish && THEMES.includes(wish) ? wish : themeAfter(stored());
    store(theme);
    apply(theme);
  });
}

function apply(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll<HTMLElement>("[data-theme-toggle]")) {
    const wish = button.dataset.themeToggle;
    if (wish) button.setAttribute("aria-pressed", String(wish === theme));
    else button.setAttribute("aria-label", `Theme: ${theme}`);
  }
}

function stored(): Theme {
  try {
    const theme = localStorage.getItem(KEY) as Theme | null;
    return theme !== null && THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto"; // storage may be forbidden
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the choice holds for this page alone.
  }
}
