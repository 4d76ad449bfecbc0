// The keyboard: one list of the keys of this page, which the help shows.
//
// A key does nothing while the user types into a field or a dialog is open. `g r` is two keys, one
// after the other; `Ctrl k` (`⌘ k` on a Mac) is both at once, and works in a field too.
import { useEffect, useRef } from "react";

export interface KeyUse {
  /** As `/`, `?`, `g r`, or `Ctrl k`. */
  readonly keys: string;
  /** What the key does, as an imperative: "search". */
  readonly does: string;
  readonly act: () => void;
}

const uses = new Map<object, readonly KeyUse[]>();
const BETWEEN_MS = 1_200;
const isMac = /^(Mac|iP)/.test(navigator.platform);
/** The key that is held for commands. */
export const COMMAND = isMac ? "⌘" : "Ctrl";
let before: { readonly key: string; readonly at: number } | null = null;

/** The keys of a component while it is on the screen. */
export function useKeys(of: readonly KeyUse[]): void {
  const owner = useRef({});
  useEffect(() => {
    const name = owner.current;
    uses.set(name, of);
    return () => void uses.delete(name);
  });
}

export function keysInUse(): readonly KeyUse[] {
  return [...uses.values()].flat();
}

export function askForHelp(): void {
  dispatchEvent(new Event("drover-help"));
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select"))
  );
}

/** Enter on these does what they are for. */
function takesEnter(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("a, button, summary");
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.altKey || document.querySelector("dialog[open]") !== null) return;
  if (event.ctrlKey || event.metaKey) onCommand(event);
  else if (!isWriting(event.target)) onPlainKey(event);
}

function onCommand(event: KeyboardEvent): void {
  if (isMac ? event.ctrlKey : event.metaKey) return;
  const use = keysInUse().findLast(({ keys }) => keys === `${COMMAND} ${event.key}`);
  if (use === undefined) return;
  event.preventDefault();
  use.act();
}

function onPlainKey(event: KeyboardEvent): void {
  if (event.key === "Enter" && takesEnter(event.target)) return;
  const sequence =
    before !== null && event.timeStamp - before.at < BETWEEN_MS ? `${before.key} ${event.key}` : "";
  const all = keysInUse();
  const use =
    all.findLast(({ keys }) => keys === sequence) ?? all.findLast(({ keys }) => keys === event.key);
  before = { key: event.key, at: event.timeStamp };
  if (use === undefined) return;
  before = null;
  event.preventDefault();
  use.act();
}

addEventListener("keydown", onKeyDown);
