// What the command palette finds: the rules that match entries with the typed text, and order them.

/** A place to go to. */
export interface Entry {
  readonly name: string;
  /** What tells it from others of this name. */
  readonly note?: string;
  /** Another name by which it is found: the id of a run that has a key. */
  readonly id?: string;
  /** Relative to the namespace. */
  readonly href: string;
}

export interface Source {
  /** "Workflows" */
  readonly title: string;
  readonly entries: readonly Entry[];
  /** Which entries these are, if there are more: "the newest 200". Empty: these are all. */
  readonly among: string;
}

export interface Group {
  /** "Workflows", "Workflows, 10 of 31", "Runs, 10 of 31 among the newest 200" */
  readonly title: string;
  readonly entries: readonly Entry[];
}

const SHOWN_MAX = 10;

/** Groups with a better match come first; equal ones stay in the order of their sources. */
export function matches(sources: readonly Source[], typed: string): readonly Group[] {
  return sources
    .map((source) => matchIn(source, typed.trim().toLowerCase()))
    .filter(({ best }) => best < NONE)
    .sort((one, other) => one.best - other.best)
    .map(({ group }) => group);
}

function matchIn({ title, entries, among }: Source, typed: string) {
  const ranked = entries
    .map((entry) => ({ entry, rank: rankOf(entry, typed) }))
    .filter(({ rank }) => rank < NONE)
    .sort((one, other) => one.rank - other.rank);
  const shown = ranked.slice(0, SHOWN_MAX).map(({ entry }) => entry);
  const cut = ranked.length > shown.length ? `, ${shown.length} of ${ranked.length}` : "";
  const part = among === "" ? "" : `${cut === "" ? "," : ""} among ${among}`;
  const group = { title: `${title}${cut}${part}`, entries: shown };
  return { best: ranked[0]?.rank ?? NONE, group };
}

const NONE = 4;

/** 0: the whole name; 1: its start; 2: the start of one of its words; 3: anywhere; NONE. */
function rankOf({ name, note = "", id = "" }: Entry, typed: string): number {
  const text = name.toLowerCase();
  if (text === typed || id === typed) return 0;
  if (text.startsWith(typed)) return 1;
  const words = text.split(/[^\p{L}\p{N}]+/u);
  if (words.some((word) => word.startsWith(typed))) return 2;
  return [text, note.toLowerCase(), id].some((one) => one.includes(typed)) ? 3 : NONE;
}
