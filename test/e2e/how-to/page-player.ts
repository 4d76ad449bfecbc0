/**
 * Plays a page of docs/how-to from top to bottom in an empty folder, as a reader in one terminal:
 *
 * - a block below a sentence that ends with the name of a file is written to that file;
 * - a block of `sh` is run by bash, and has to succeed, or to end with the exit code that a
 *   comment in it names ("# exit code 1"). Variables and processes that end with "&" live on;
 * - a block of `text` shows lines of the output of the commands above it, in their order. Ids,
 *   times and durations may differ. Commands that only read are run again until they show them.
 *
 * Every block has to be one of these. Ports of 74xx are replaced by free ones.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { freeAddress } from "../../support/free-address.ts";
import { makeTestFolder } from "../../support/global-postgres.ts";
import { until } from "../../support/until.ts";

export const treeRoot = join(import.meta.dirname, "../../..");
/** On a machine with other work: a page waits for some of Drover's timeouts. */
export const pageMsMax = 600_000;
const outputMsMax = 150_000;
const askEveryMs = 50;

/** A fenced block of a page, and the file that the sentence above it names. */
export interface Block {
  readonly fence: string;
  readonly text: string;
  readonly file: string | null;
}

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map((found) => {
    const [, fence = "", text = ""] = found;
    const [, file = null] = /`([\w./-]+\.\w+)`:\n\n$/.exec(page.slice(0, found.index)) ?? [];
    return { fence, text, file };
  });
}

export interface PageSettings {
  /** `dev`, the default: a server with a PostgreSQL of its own, as `npx drover dev` starts it. */
  readonly server?: "dev" | "none";
  /** Further variables of the terminal. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folders with further programs, such as a Python with packages. */
  readonly programs?: readonly string[];
  /** Changes the text of the page before it is played; to show that a broken page is noticed. */
  readonly edit?: (page: string) => string;
}

/** What a page that was played has left, for further checks. */
export interface PlayedPage {
  readonly folder: string;
  /** Runs another command in the terminal of the page; what it wrote. */
  run(command: string): Promise<string>;
}

export async function playPage(name: string, settings: PageSettings = {}): Promise<PlayedPage> {
  const page = readFileSync(join(treeRoot, "docs/how-to", `${name}.md`), "utf8");
  const terminal = openTerminal(settings);
  if (settings.server !== "none") await terminal.startDev();
  const text = await withFreePorts(settings.edit?.(page) ?? page);
  const blocks = blocksOf(text);
  expect(blocks.length).toBeGreaterThan(2);
  for (let at = 0; at < blocks.length; at += 1) {
    const block = blocks[at];
    if (block === undefined) break;
    const next = blocks[at + 1];
    if (block.file !== null) {
      mkdirSync(dirname(join(terminal.folder, block.file)), { recursive: true });
      writeFileSync(join(terminal.folder, block.file), block.text);
    } else if (block.fence === "sh" && next?.fence === "text" && next.file === null) {
      await terminal.play(block.text, next.text);
      at += 1;
    } else if (block.fence === "sh") await terminal.play(block.text, "");
    else throw new Error(`docs/how-to/${name}.md has a block that nothing runs:\n${block.text}`);
  }
  return { folder: terminal.folder, run: terminal.run };
}

/** The same port stands for the same server all over a page. */
async function withFreePorts(page: string): Promise<string> {
  const free = new Map<string, string>();
  for (const [port] of page.matchAll(/\b74\d\d\b/g))
    if (!free.has(port)) free.set(port, (await freeAddress()).replace(/.*:/, ""));
  return page.replaceAll(/\b74\d\d\b/g, (port) => free.get(port) ?? port);
}

function openTerminal({ programs = [], env: more = {} }: PageSettings) {
  const folder = makeTestFolder();
  const started: ChildProcess[] = [];
  let blocks = 0;
  onTestFinished(async () => {
    for (const one of started) endGroup(one);
    // Processes of the page may still write: the database of `drover dev` ends with its server.
    await until("the processes of the page have ended", () => started.every(isGroupGone) || null);
    rmSync(folder, { recursive: true, force: true });
  });
  symlinkSync(join(treeRoot, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  // What npx does with a program of node_modules, without the half second that npm takes for it.
  mkdirSync(join(folder, ".programs"));
  writeFileSync(join(folder, ".programs/npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const own = [join(folder, ".programs"), join(treeRoot, "node_modules/.bin")];
  const path = [...own, ...programs, dirname(process.execPath), process.env.PATH ?? ""];
  const env: Record<string, string> = {
    PATH: path.join(delimiter),
    USER: "ada",
    DROVER_DATA_DIR: join(folder, "data"),
    CLONE: treeRoot,
    PYTHONPATH: join(treeRoot, "sdk/python"),
    PYTHONDONTWRITEBYTECODE: "1",
    ...more,
  };
  for (const name of ["HOME", "GOPATH", "GOFLAGS", "GOPROXY", "GOCACHE", "GONOSUMDB", "GOSUMDB"])
    if (process.env[name] !== undefined) env[name] = process.env[name];

  function start(text: string): { readonly child: ChildProcess; readonly output: () => string } {
    blocks += 1;
    const [script, log] = [join(folder, `.block-${blocks}`), join(folder, `.output-${blocks}`)];
    const variables = join(folder, ".variables");
    const before = existsSync(variables) ? `. ${variables} 2> ${log}.readonly\n` : "";
    const after = `trap 'export -p > ${variables}' EXIT`;
    writeFileSync(script, `${before}set -ae\n${after}\n${text}`);
    const command = `exec bash ${script} > ${log} 2>&1 < /dev/null`;
    const child = spawn("sh", ["-c", command], { cwd: folder, env, detached: true });
    started.push(child);
    return { child, output: () => (existsSync(log) ? readFileSync(log, "utf8") : "") };
  }

  async function run(text: string): Promise<string> {
    const { child, output } = start(text);
    expectExit(await exitOf(child), text, output());
    return output();
  }

  /** Until the output has the lines, or cannot get them any more. */
  async function play(text: string, shown: string): Promise<void> {
    const { child, output } = start(text);
    expectExit(await exitOf(child), text, output());
    let written = output;
    const end = performance.now() + outputMsMax;
    while (missingLine(written(), shown) !== null && performance.now() < end) {
      if (onlyReads(text)) {
        const again = await run(text);
        written = () => again;
      } else if (isGroupGone(child)) break;
      else await new Promise((resolve) => setTimeout(resolve, askEveryMs));
    }
    expect(
      missingLine(written(), shown),
      `a line that the page shows is not in\n${written()}`,
    ).toBe(null);
  }

  return {
    folder,
    run,
    play,
    async startDev() {
      const { output } = start("exec drover dev --address 127.0.0.1:0\n");
      const ready = await until(
        "the server is ready",
        () => (output().includes("next: drover run list") ? output() : null),
        outputMsMax,
      );
      env.DROVER_ADDRESS = /server +([\d.:]+): /.exec(ready)?.[1] ?? "";
    },
  };
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [code] = await once(child, "exit");
  return code;
}

/** The code that the page names in a comment, or 0. */
function expectExit(code: unknown, text: string, output: string): void {
  const [, expected = "0"] = /# exit code (\d+)/.exec(text) ?? [];
  expect(`exit code ${code}`, `${text}\n${output}`).toBe(`exit code ${expected}`);
}

function endGroup(child: ChildProcess): void {
  try {
    process.kill(-Number(child.pid), "SIGTERM");
  } catch {
    // It has ended.
  }
}

function isGroupGone(child: ChildProcess): boolean {
  try {
    process.kill(-Number(child.pid), 0);
    return false;
  } catch {
    return true;
  }
}

/** Whether a reader repeats the commands until they show what is expected. */
function onlyReads(text: string): boolean {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return lines.every((line) =>
    /^(npx drover [a-z]+ (show|why|list|durations)|npx drover status|psql|curl)\b/.test(line),
  );
}

/** The first line of `shown` that does not come in the output after the ones before it. */
function missingLine(output: string, shown: string): string | null {
  const there = output.split("\n").map(withoutChance);
  let from = 0;
  for (const line of shown.split("\n").map(withoutChance)) {
    if (line === "") continue;
    const at = there.findIndex((one, index) => index >= from && one.includes(line));
    if (at < 0) return line;
    from = at + 1;
  }
  return null;
}

/**
 * What differs each time has one form: ids, dates, times, durations; and so have spaces. A host
 * is left out: a machine may have no name.
 */
function withoutChance(line: string): string {
  return line
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "ID")
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, "DATE")
    .replaceAll(/\b\d\d:\d\d(:\d\d)?(\.\d+)?Z?\b/g, "TIME")
    .replaceAll(/\b\d+(\.\d+)? ?(ms|s|m|h)\b/g, "DURATION")
    .replaceAll(/\b[0-9a-f]{8}\b/g, "INSTANCE")
    .replaceAll(/INSTANCE +(\S+ +)?DURATION/g, "INSTANCE DURATION")
    .replaceAll(/\s+/g, " ")
    .trim();
}
