// Copies a text to the clipboard, and confirms it.
import { useState } from "react";

const CONFIRMED_MS = 1_500;

/** `what` as in "Copy the run's id". */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      className="quiet copy"
      aria-label={`Copy ${what}`}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          setDone(true);
          setTimeout(() => setDone(false), CONFIRMED_MS);
        });
      }}
    >
      {done ? "Copied" : "Copy"}
    </button>
  );
}
