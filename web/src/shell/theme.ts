// Dark or light: that of the system, unless the user has chosen one. The choice is stored in this
// browser.

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

/** CSS follows the system by itself; the attribute is set only for a choice. */
export function showTheme(): void {
  const theme = chosenTheme();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme;
  // A canvas has no CSS: charts draw again on this event.
  dispatchEvent(new Event("drover-theme"));
}
