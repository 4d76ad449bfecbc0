// Dark or light: as the system says, unless a person has chosen. The choice is kept here.

export type Theme = "system" | "light" | "dark";

const KEPT_AS = "drover.theme";

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEPT_AS);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEPT_AS);
  else localStorage.setItem(KEPT_AS, theme);
  showTheme();
}

/** CSS follows the system by itself; the attribute stands for a choice alone. */
export function showTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme;
  // Canvases have no CSS: they draw again when they hear of it.
  dispatchEvent(new Event("drover-theme"));
}
