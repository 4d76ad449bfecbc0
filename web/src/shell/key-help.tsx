// `?`: the help for keys on this page; and the keys that work on every page.
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { pages } from "../pages.tsx";
import { addressOf, routes } from "../routes.ts";
import { askForHelp, type KeyUse, keysInUse, useKeys } from "./keys.ts";

export function KeyHelp() {
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<readonly KeyUse[]>([]);
  const everywhere = useMemo(
    () => [
      { keys: "?", does: "show the shortcuts", act: askForHelp },
      { keys: "/", does: "search or filter on this page", act: focusSearch },
      ...routes
        .filter(({ id, letter }) => letter !== null && pages[id] !== undefined)
        .map((route) => ({
          keys: `g ${route.letter}`,
          does: `go to ${route.title}`,
          act: () => go(addressOf(route)),
        })),
    ],
    [go],
  );
  useKeys(everywhere);
  useEffect(() => {
    const show = () => {
      setShown(keysInUse());
      dialog.current?.showModal();
    };
    addEventListener("drover-help", show);
    return () => removeEventListener("drover-help", show);
  }, []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="keys-title">
      <h2 id="keys-title">Shortcuts</h2>
      <dl className="keys">
        {shown.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" className="dialog-acts">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>("main [type=search]");
  field?.focus();
  field?.select();
}
