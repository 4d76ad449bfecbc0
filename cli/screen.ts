/**
 * A terminal that is drawn anew, for what is watched.
 *
 *     first view -> other screen, cursor hidden -close, exit-> as it was, with the last picture
 *
 * A terminal that is made narrower breaks the lines that stand there, so that nobody can say how
 * many rows up the picture began. On the other screen, as `less` has it, each picture begins at
 * the top; when the process ends, however it does, the last one is left for reading.
 */
import { stripVTControlCharacters } from "node:util";

/** The rows of the terminal to the lines for them. */
export type View = (rows: number) => readonly string[];

export interface Screen {
  /** In place of the last view, now and whenever the terminal gets another size. */
  show(view: View): void;
  /** May be repeated. */
  close(): void;
}

/** What it needs of a terminal. */
export interface Terminal {
  readonly rows: number;
  readonly columns: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** Some terminals do not say how large they are. */
const [rowsIfUnknown, columnsIfUnknown] = [24, 80];
/** Wide characters may be more than we count: without wrapping a line is one row all the same. */
const [open, closed] = ["\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"];
const [top, clearBelow, clearRight] = ["\x1b[H", "\x1b[J", "\x1b[K"];

export function createScreen(terminal: Terminal): Screen {
  let view: View | null = null;

  const picture = (): readonly string[] => {
    const rows = terminal.rows || rowsIfUnknown;
    const columns = terminal.columns || columnsIfUnknown;
    const lines = view?.(rows) ?? [];
    return lines.slice(0, rows).map((line) => cut(line, columns));
  };
  const draw = () => {
    const text = picture().map((line) => `${line}${clearRight}`);
    terminal.write(`${top}${text.join("\r\n")}${clearBelow}`);
  };
  const close = () => {
    if (view === null) return;
    const last = picture().map((line) => `${line}\n`);
    view = null;
    terminal.off("resize", draw);
    process.off("exit", close);
    terminal.write(`${closed}${last.join("")}`);
  };

  return Object.freeze({
    show(next: View) {
      if (view === null) {
        terminal.write(open);
        terminal.on("resize", draw);
        process.on("exit", close);
      }
      view = next;
      draw();
    },
    close,
  });
}

/** A painted text is cut between its signs, and ends without paint. */
export function cut(text: string, columns: number): string {
  if ([...stripVTControlCharacters(text)].length <= columns) return text;
  let left = columns - 1;
  let kept = "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  for (const [part] of text.matchAll(/\x1b\[[\d;]*m|./gsu)) {
    const isPaint = part.startsWith("\x1b");
    if (isPaint || left > 0) kept += part;
    if (!isPaint) left -= 1;
  }
  return `${kept}…`;
}

const endedBy = { SIGINT: 130, SIGTERM: 143 } as const;

/** Ends the process at a signal in a way in which a screen is closed. */
export function endAtSignals(codeOfCtrlC: number = endedBy.SIGINT): void {
  process.once("SIGINT", () => process.exit(codeOfCtrlC));
  process.once("SIGTERM", () => process.exit(endedBy.SIGTERM));
}
