// Links to every page, the namespace, and the theme.
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { pages } from "../pages.tsx";
import { Icon } from "../parts/icon.tsx";
import { addressOf, routes } from "../routes.ts";
import { askForHelp, COMMAND } from "./keys.ts";
import { NamespaceChoice } from "./namespace.tsx";
import { openPalette } from "./palette.tsx";
import { onToken, signedIn, signOut } from "./session.ts";
import { chooseTheme, chosenTheme, type Theme } from "./theme.ts";

export function Navigation() {
  const [location] = useLocation();
  const [open, setOpen] = useState(false);
  const shown = routes.filter(({ id, letter }) => letter !== null && pages[id] !== undefined);
  return (
    <header className="navigation" data-open={open}>
      <div className="brand">
        <Link href="/" className="brand-link">
          <img src="/mark.svg" alt="" width="26" height="26" />
          <span>Drover</span>
        </Link>
        <button
          type="button"
          className="quiet menu"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      </div>
      <button type="button" className="go-to" onClick={openPalette}>
        Go to…{" "}
        <span>
          <kbd>{COMMAND}</kbd> <kbd>k</kbd>
        </span>
      </button>
      <NamespaceChoice />
      <nav aria-label="Pages">
        <ul>
          {shown.map((route) => {
            const address = addressOf(route);
            const here =
              address === "/"
                ? location === "/"
                : location === address || location.startsWith(`${address}/`);
            return (
              <li key={route.id}>
                <Link
                  href={address}
                  aria-current={here ? "page" : undefined}
                  onClick={() => setOpen(false)}
                >
                  <Icon name={route.id} />
                  {route.title}
                </Link>
              </li>
            );
          })}
        </ul>
      </nav>
      <div className="navigation-foot">
        <SignedIn />
        <ThemeChoice />
        <button type="button" className="quiet" onClick={askForHelp}>
          Shortcuts <kbd>?</kbd>
        </button>
      </div>
    </header>
  );
}

function SignedIn() {
  const [held, setHeld] = useState(signedIn);
  useEffect(() => onToken(() => setHeld(signedIn())), []);
  if (held === null) return null;
  return (
    <div className="signed-in">
      <span title={held.name}>{held.name}</span>
      <button type="button" className="quiet" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

const themes: readonly (readonly [Theme, string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <label className="theme">
      <span>Theme</span>
      <select
        value={theme}
        onChange={({ target }) => {
          const chosen = themes.find(([name]) => name === target.value)?.[0] ?? "system";
          chooseTheme(chosen);
          setTheme(chosen);
        }}
      >
        {themes.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}
