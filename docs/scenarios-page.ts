/**
 * Makes docs/SCENARIOS.md, the reference of scenario files, and docs/scenarios.schema.json, by
 * which an editor completes and checks one: both from the shapes by which a file is read.
 */
import { ACT } from "../simulator/act-shape.ts";
import type { ChoiceShape } from "../simulator/choice-shape.ts";
import { EVENT } from "../simulator/event-shape.ts";
import { EXPECT } from "../simulator/expect-shape.ts";
import type { Field } from "../simulator/record-shape.ts";
import { FILE, SCENARIO } from "../simulator/scenario-shape.ts";
import { STEP_WORDS } from "../simulator/state-words.ts";

export function scenariosSchemaText(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Drover scenarios",
    ...FILE.schema,
    definitions: { act: ACT.schema, event: EVENT.schema, expect: EXPECT.schema },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

export function scenariosPage(): string {
  return [
    "# Scenario files",
    "<!-- Made by `node docs/generate.ts` from simulator: change the shapes, not this page. -->",
    "This page is the reference of scenario files, which `drover workflow test` plays: after reading it you know every key, act, event and expectation. [TESTING.md](TESTING.md) shows how to write one. Durations are written as in workflows: `1h30m`, `250ms`, `7d`. For completion in an editor, begin the file with `# yaml-language-server: $schema=` and the address of [scenarios.schema.json](scenarios.schema.json).",
    "## The file",
    table(FILE.fields),
    "## A scenario",
    table(SCENARIO.fields),
    "## Task keys",
    [
      "A key of `agents` names a task. If several keys match a task, the most exact one applies:",
      "",
      "| key | tasks |",
      "| --- | --- |",
      "| `book-hotel` | all tasks of this name, also those that verify and undo |",
      "| `book-hotel of hotel` | the tasks of this name of one step |",
      "| `encode-chunk of chunks[2]` | the tasks of this name of one item of a map, counted from 0 |",
      '| `"*"` | every task that performs a step and has no key of its own |',
    ].join("\n"),
    "## Acts",
    "An act defines what an agent does with a task. It is written as a word (`hang`), with the value of its main setting (`fail: SOLD_OUT`), or with several settings (`fail: { code: SOLD_OUT, permanent: true }`). A list has one act for each time that the task is handed out. The last act repeats; each item of a map starts with the first.",
    choices(ACT),
    "## Events",
    "An event has one key of the second table, which defines what happens, and keys of the first table, which define when:",
    table(EVENT.beside),
    choices(EVENT),
    "## Expectations",
    "The test compares only what `expect` names. `expect: COMPLETED` is short for `expect: { run: COMPLETED }`.",
    table(EXPECT.fields),
    `A step is in one of these states: ${STEP_WORDS.map((word) => `\`${word}\``).join(", ")}. A step that is undone reaches its own final state first, so \`order\` and \`times\` can name both \`hotel FAILED\` and \`hotel UNDONE\`.`,
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function table(fields: ReadonlyMap<string, Field<unknown>>): string {
  const rows = [...fields].map(([key, { about, shape, absent }]) => {
    const must = absent.kind === "required" ? " **Required.**" : "";
    return `| \`${key}\` | ${cell(shape.phrase)} | ${cell(about)}.${must} |`;
  });
  return ["| key | value | meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function choices({ choices: all }: Pick<ChoiceShape<unknown>, "choices">): string {
  const rows = [...all].map(([key, { about, shape }]) => {
    const settings = [...shape.fields].map(
      ([name, field]) =>
        `\`${name}\`: ${cell(field.about)}${field.absent.kind === "required" ? " (required)" : ""}`,
    );
    return `| \`${key}\` | ${cell(about)} | ${settings.join("<br>")} |`;
  });
  return ["| key | what happens | settings |", "| --- | --- | --- |", ...rows].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
