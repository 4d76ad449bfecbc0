/**
 * Makes docs/SCENARIOS.md, the reference of scenario files, and docs/scenarios.schema.json, by
 * which an editor completes and checks one: both from the shapes by which a file is read.
 */
import { ACT } from "../server/rehearsal/act-shape.ts";
import type { ChoiceShape } from "../server/rehearsal/choice-shape.ts";
import { EVENT } from "../server/rehearsal/event-shape.ts";
import { EXPECT } from "../server/rehearsal/expect-shape.ts";
import type { Field } from "../server/rehearsal/record-shape.ts";
import { FILE, SCENARIO } from "../server/rehearsal/scenario-shape.ts";
import { STEP_WORDS } from "../server/rehearsal/state-words.ts";

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
    "<!-- Made by `node docs/generate.ts` from server/rehearsal: change the shapes, not this page. -->",
    "Every key of a file that `drover workflow test` plays. How to write one: [TESTING.md](TESTING.md). Durations are written as in workflows: `1h30m`, `250ms`, `7d`. For completion in an editor begin the file with `# yaml-language-server: $schema=` and the address of [scenarios.schema.json](scenarios.schema.json).",
    "## The file",
    table(FILE.fields),
    "## A scenario",
    table(SCENARIO.fields),
    "## Agents: whose task",
    [
      "A key of `agents` is the name of a task. The most exact one counts:",
      "",
      "| key | which tasks |",
      "| --- | --- |",
      "| `book-hotel` | all of this name, also those that verify and undo |",
      "| `book-hotel of hotel` | those of one step |",
      "| `encode-chunk of chunks[2]` | those of one item of a map, counted from 0 |",
      '| `"*"` | whatever is to be performed and has no key of its own |',
    ].join("\n"),
    "## Acts",
    "What an agent does with a task, as a word (`hang`), with its shortest setting (`fail: SOLD_OUT`), or with all of them (`fail: { code: SOLD_OUT, permanent: true }`). A list has one for each time that the task is handed out; the last repeats, and each item of a map begins with the first.",
    choices(ACT),
    "## Events",
    "Each has one of these keys, and says when:",
    table(EVENT.beside),
    choices(EVENT),
    "## Expectations",
    "Only what is said is looked at. `expect: COMPLETED` is short for `expect: { run: COMPLETED }`.",
    table(EXPECT.fields),
    `A step is in one of these states: ${STEP_WORDS.map((word) => `\`${word}\``).join(", ")}. One that is undone comes to its own end first: \`order\` and \`times\` know \`hotel FAILED\` and \`hotel UNDONE\`.`,
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function table(fields: ReadonlyMap<string, Field<unknown>>): string {
  const rows = [...fields].map(([key, { about, shape, absent }]) => {
    const must = absent.kind === "required" ? " **Required.**" : "";
    return `| \`${key}\` | ${cell(shape.says)} | ${cell(about)}.${must} |`;
  });
  return ["| key | value | what it says |", "| --- | --- | --- |", ...rows].join("\n");
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
