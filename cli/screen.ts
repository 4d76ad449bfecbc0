/**
 * A terminal that is redrawn, for watches.
 *
 *     first view -> alternate screen, cursor hidden -close, exit-> normal screen, last picture
 *
 * When a terminal is made narrower, it wraps the lines on it, and the program cannot know where its
 * picture began. On the alternate screen, as used by `less`, each picture begins at the top.
 * However the process ends, the last picture is left on the normal screen.
 */
import { stripVTControlCharacters } from "node:util";

/** From the terminal's number of rows to the lines of the picture. */
export type View = (rows: number) => readonly string[];

export interface Screen {
  /**
   * Replaces the last view. It is drawn now, and again whenever the size of the terminal changes.
   */
  show(view: View): void;
  /** May be called again. */
  close(): void;
}

/** The part of a terminal that the screen needs. */
export interface Terminal {
  readonly rows: number;
  readonly columns: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** Some terminals do not report their size. */
const rowsIfUnknown = 24;
export const columnsIfUnknown = 80;
/**
 * Wide characters may take more columns than `cut` counts; without wrapping, a line is still one
 * row.
 */
const open = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const closed = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const top = "\x1b[H";
const clearBelow = "\x1b[J";
const clearRight = "\x1b[K";

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

/** Cuts a coloured text between its characters; its colours are reset at the end. */
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

/** Exits at a signal through `process.exit`, so that a screen is closed. */
export function endAtSignals(codeOfCtrlC: number = endedBy.SIGINT): void {
  const isFirst = codeAtCtrlC === null;
  codeAtCtrlC = codeOfCtrlC;
  if (!isFirst) return;
  process.once("SIGINT", () => process.exit(codeAtCtrlC ?? endedBy.SIGINT));
  process.once("SIGTERM", () => process.exit(endedBy.SIGTERM));
}

/** null: the process has no listeners for signals yet. */
let codeAtCtrlC: number | null = null;
