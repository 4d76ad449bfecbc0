// The commands of a migration, one by one: Citus refuses several commands that change a distributed
// schema in one message.

interface SqlCommand {
  readonly text: string;
  /** Where it begins in the whole text. */
  readonly at: number;
}

/** What may contain a semicolon that ends no command: comments, strings, names, bodies. */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|;/g;
const COMMENT = /--[^\n]*|\/\*[\s\S]*?\*\//g;

export function commandsOf(sql: string): readonly SqlCommand[] {
  const ends = [...sql.matchAll(TOKEN)].flatMap(({ 0: token, index }) =>
    token === ";" ? index + 1 : [],
  );
  return [...ends, sql.length]
    .map((end, index) => ({ at: ends[index - 1] ?? 0, end }))
    .map(({ at, end }) => ({ at, text: sql.slice(at, end) }))
    .filter(({ text }) => text.replace(COMMENT, "").trim() !== "");
}

/**
 * The table, view or function that a command is about: the first that it names; null: none. A
 * function is named with its bracket, such as `schedule(`.
 */
export function aboutOf(command: string): string | null {
  return /\bdrover\.([a-z_]\w*\(?)/.exec(command.replace(COMMENT, ""))?.[1] ?? null;
}
