// The command palette: goes to a page, workflow, queue, agent, schedule or run by a part of its
// name.
//
// The focus stays in the field, which says to screen readers which option is current.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { Foreign } from "../parts/foreign.tsx";
import { counted } from "../words/counts.ts";
import { COMMAND, useKeys } from "./keys.ts";
import { type Entry, type Group, matches } from "./palette-entries.ts";
import { useSources } from "./palette-sources.ts";
import "./palette.css";

export function openPalette(): void {
  dispatchEvent(new Event("drover-palette"));
}

const keys = [
  { keys: `${COMMAND} k`, does: "go to a page, or to anything by its name", act: openPalette },
];

export function Palette() {
  const [open, setOpen] = useState(false);
  useKeys(keys);
  useEffect(() => {
    const show = () => setOpen(true);
    addEventListener("drover-palette", show);
    return () => removeEventListener("drover-palette", show);
  }, []);
  return open ? <OpenPalette onClose={() => setOpen(false)} /> : null;
}

/** A pause in typing before the server is asked for a run of this name. */
const TYPING_MS = 150;

function OpenPalette({ onClose }: { readonly onClose: () => void }) {
  const [, go] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [picked, setPicked] = useState("");
  const { sources, loading, problems } = useSources(useSettled(typed.trim()));
  const groups = matches(sources, typed);
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.max(
    0,
    entries.findIndex(({ href }) => href === picked),
  );
  const current = entries[at];
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const shown = current === undefined ? null : document.getElementById(optionId(id, current));
    shown?.scrollIntoView({ block: "nearest" });
  }, [id, current]);

  const open = ({ href }: Entry) => {
    dialog.current?.close();
    go(href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setPicked(entries.at((at + step) % entries.length)?.href ?? "");
    else if (event.key === "Enter" && current !== undefined) open(current);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label="Go to"
      onClose={onClose}
      onClick={({ target }) => target === dialog.current && dialog.current.close()}
    >
      <input
        role="combobox"
        aria-label="Go to"
        aria-expanded={entries.length > 0}
        aria-controls={`${id}list`}
        aria-autocomplete="list"
        aria-activedescendant={current === undefined ? undefined : optionId(id, current)}
        placeholder="A name, or the id or key of a run"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          setPicked("");
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={`${id}list`} aria-label="Places" className="palette-list">
        {groups.map((group) => (
          <PaletteGroup key={group.title} {...{ group, id, current, open }} />
        ))}
      </div>
      <p role="status" className="palette-status">
        {[statusOf(entries.length, loading), ...problems].join(" ")}
      </p>
    </dialog>
  );
}

interface GroupProps {
  readonly group: Group;
  readonly id: string;
  readonly current: Entry | undefined;
  readonly open: (entry: Entry) => void;
}

function PaletteGroup({ group, id, current, open }: GroupProps) {
  return (
    <div role="group" aria-label={group.title}>
      <p role="presentation" className="palette-title">
        {group.title}
      </p>
      {group.entries.map((entry) => (
        <div
          key={entry.href}
          role="option"
          id={optionId(id, entry)}
          aria-selected={entry === current}
          onClick={() => open(entry)}
        >
          <Foreign text={entry.name} /> <small>{entry.note}</small>
        </div>
      ))}
    </div>
  );
}

function optionId(id: string, { href }: Entry): string {
  return `${id}${href}`;
}

function statusOf(count: number, loading: boolean): string {
  if (loading) return "Searching…";
  return count === 0 ? "Nothing has this name." : `${counted(count, "place")}.`;
}

/** The text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
