// The drover command on a real terminal, which `script` of util-linux opens: a size that may
// change, keys that are typed, and all that was written to it.
import { execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

export interface Size {
  readonly rows: number;
  readonly columns: number;
}

export interface TerminalProcess {
  readonly ended: Promise<number | null>;
  /** All that was written, with the signs that move the cursor. */
  written(): string;
  /** The lines of the picture that was drawn last. */
  picture(): readonly string[];
  type(keys: string): void;
  /** As a window that is drawn larger or smaller: the kernel notifies the process. */
  resize(size: Size): void;
}

const binary = fileURLToPath(new URL("../../cli/bin/drover.js", import.meta.url));
export const CTRL_C = "\x03";
const top = "\x1b[H";

export async function droverOnTerminal(
  args: readonly string[],
  { rows, columns, address }: Size & { readonly address: string },
): Promise<TerminalProcess> {
  const command = [process.execPath, binary, ...args].map((argument) => `'${argument}'`).join(" ");
  const line = `stty rows ${rows} cols ${columns}; tty; exec ${command}`;
  const child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", SHELL: "/bin/sh", DROVER_ADDRESS: address },
  });
  let text = "";
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const device = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      const found = /\/dev\/pts\/\d+/.exec(text);
      if (found) resolve(found[0]);
    });
    ended.then(() => reject(new Error(`it ended without a terminal: ${text}`)), reject);
  });
  return Object.freeze({
    ended,
    written: () => text,
    picture: () =>
      stripVTControlCharacters(text.slice(text.lastIndexOf(top)))
        .split("\r\n")
        .map((one) => one.trimEnd()),
    type: (keys: string) => void child.stdin.write(keys),
    resize: (size: Size) =>
      void execFileSync("stty", [
        "-F",
        device,
        "rows",
        String(size.rows),
        "cols",
        String(size.columns),
      ]),
  });
}
