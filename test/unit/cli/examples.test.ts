// Every verb has examples, each of which is a command that the program takes, with -o as well.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isHidden } from "../../../cli/completion.ts";
import { EXAMPLES } from "../../../cli/examples.ts";
import { createProgram } from "../../../cli/program.ts";

const before = process.cwd();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-examples-"));
  writeFileSync(join(folder, "staging.yaml"), "log: info\n");
  process.chdir(folder);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

type Verb = readonly [name: string, command: Command];

/** Commands that act, by their path; `complete` is for scripts. */
function verbsOf(command: Command, name = ""): readonly Verb[] {
  const under = command.commands
    .filter((child) => !isHidden(child))
    .flatMap((child) => verbsOf(child, `${name} ${child.name()}`.trim()));
  const acts = command.commands.length === 0 || name === "supervisor";
  return acts ? [[name, command], ...under] : under;
}

const names = verbsOf(await createProgram("0", () => {})).map(([name]) => name);

/** As a shell would split it, from the command drover on, up to a pipe. */
function argumentsOf(example: string): readonly string[] {
  const own = /(?:^|[\s(])drover (.*)$/.exec(example)?.[1] ?? "";
  const parts = own.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? [];
  const end = parts.findIndex((part) => part === "|" || part === ">");
  return parts
    .slice(0, end < 0 ? parts.length : end)
    .map((part) => part.replace(/^(['"])(.*)\1$/, "$2"));
}

test("no example is of a verb that is not there", () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual([...names].toSorted());
});

describe("the examples of", () => {
  test.each(names)("%s are taken as they are, and with -o yaml", async (name) => {
    const examples = EXAMPLES[name] ?? [];
    expect(examples).not.toEqual([]);
    for (const example of examples.filter((one) => !/\$\(|<\(/.test(one))) {
      const program = await createProgram("0", () => {});
      let taken = "";
      for (const [of, verb] of verbsOf(program))
        verb.action((...given) => {
          const command: Command = given.at(-1);
          taken = `${of} ${command.optsWithGlobals().output}`;
        });
      await program.parseAsync([...argumentsOf(example), "-o", "yaml"], { from: "user" });
      expect(taken, example).toBe(`${name} yaml`);
    }
  });
});
