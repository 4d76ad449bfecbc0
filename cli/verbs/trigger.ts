/**
 * `drover trigger put`, `list`, `show`, `delete`, `refusals`, `try`: triggers that start or
 * continue runs, what they have refused, and what they would do.
 */
import { randomBytes } from "node:crypto";
import {
  DeleteTriggerResponseSchema,
  GetTriggerResponseSchema,
  ListRefusalsResponseSchema,
  ListTriggersResponseSchema,
  PutTriggerResponseSchema,
  RefusalSchema,
  type Trigger,
  TriggerSchema,
  type TryTriggerResponse,
  TryTriggerResponseSchema,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import { type Command, Option } from "commander";
import { addLabel, addText, contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes, notThere, usageFailure } from "../failure.ts";
import { readPayload, readText } from "../input.ts";
import { addList, documentOf } from "../list-verb.ts";
import type { Output } from "../output.ts";
import { runRefOf } from "../run-ref.ts";
import {
  actionWords,
  type DefinitionOptions,
  definitionOf,
  detailsOf,
  sourceWords,
} from "../trigger-words.ts";
import { clean, timeWords } from "../words.ts";

interface PutOptions extends DefinitionOptions {
  readonly secretFile?: string;
  readonly newSecret?: boolean;
}

interface TryOptions {
  readonly file?: string;
  readonly body?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly run?: string;
}

const secretBytes = 32;
const refusalsMax = 1_000;

export function addTriggerVerbs(trigger: Command, ended: Ended): void {
  addPut(trigger, ended);
  addTriggerList(trigger, ended);
  trigger
    .command("show")
    .description("show a trigger: its source, its action, its last refusals")
    .argument("<trigger>", "name of the trigger")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.getTrigger({ namespace, name });
      output.data(GetTriggerResponseSchema, answer);
      if (output.format === "table" && answer.trigger) show(answer.trigger, output);
      output.next(`drover trigger refusals ${clean(name)}`);
      ended(exitCodes.done);
    });
  trigger
    .command("delete")
    .description("delete a trigger with its refusals; no server takes calls for it any more")
    .argument("<trigger>", "name of the trigger")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.deleteTrigger({ namespace, name });
      output.data(DeleteTriggerResponseSchema, answer);
      if (!answer.deleted) throw notThere(`there is no trigger "${name}"`, "drover trigger list");
      if (output.format === "table") output.line(`trigger ${clean(name)} deleted`);
      ended(exitCodes.done);
    });
  addRefusals(trigger, ended);
  addTry(trigger, ended);
}

function addPut(trigger: Command, ended: Ended): void {
  trigger
    .command("put")
    .description("create or change a trigger, from a file or from flags")
    .argument("[file]", "a trigger in YAML or JSON; - for a pipe")
    .option("--name <name>", "its name, without a file")
    .option("--hmac <header>", "called over HTTP, signed in this header")
    .option("--prefix <text>", "the prefix of the signature, as sha256=")
    .option("--timestamp <header>", "the header of the signed timestamp")
    .option("--bearer", "called over HTTP, with the secret as its token")
    .option("--end-of <workflow>", "triggered by the end of runs of this workflow")
    .option(
      "--state <state>",
      "with --end-of: only for this final state; may be given again",
      addText,
    )
    .option("--when <cel>", "a condition; events for which it is false are ignored")
    .option("--schedule <workflow>", "the workflow to start")
    .option("--input <json>", "the input, a template: JSON, or @FILE")
    .option("--key <template>", "the key of the run, a template; a repeated event has the same key")
    .option("--label <key=value>", "a label of the run, a template; may be given again", addLabel)
    .addOption(
      new Option(
        "--secret-file <file>",
        "the file with the secret of the callers; - for a pipe",
      ).conflicts("newSecret"),
    )
    .option("--new-secret", "create a secret, and print it once")
    .action(async (file: string | undefined, options: PutOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const source = sourceOf(file, options);
      const { operator, namespace } = connect();
      const secret = secretOf(options);
      const answer = await operator.putTrigger({ namespace, source, secret });
      output.data(PutTriggerResponseSchema, answer);
      const name = clean(answer.trigger?.definition?.trigger ?? "");
      if (output.format === "table")
        output.line(`trigger ${name} ${answer.created ? "created" : "changed"}`);
      const path = answer.trigger?.path ?? "";
      if (path !== "") output.note(`  called by POST ${clean(path)}`);
      if (options.newSecret) output.note(`secret ${secret}: store it, it is not shown again`);
      ended(exitCodes.done);
    });
}

function sourceOf(file: string | undefined, options: PutOptions) {
  const { secretFile: _, newSecret: __, ...flags } = options;
  if (file === undefined) return { case: "definition" as const, value: definitionOf(flags) };
  if (Object.keys(flags).length > 0)
    throw usageFailure("a file defines the whole trigger", "leave out the file or the other flags");
  return { case: "text" as const, value: readText(file) };
}

/** A secret is no argument: all users of a machine can read the arguments of its processes. */
function secretOf({ secretFile, newSecret }: PutOptions): string {
  if (newSecret) return randomBytes(secretBytes).toString("hex");
  return secretFile === undefined ? "" : readText(secretFile).replace(/\r?\n$/, "");
}

function addTriggerList(trigger: Command, ended: Ended): void {
  const verb = trigger.command("list").description("list the triggers of the namespace");
  addList(verb, ended, {
    headers: ["TRIGGER", "SOURCE", "ACTION", "CHANGED"],
    async read({ operator, namespace }) {
      const { triggers } = await operator.listTriggers({ namespace });
      return { items: triggers, nextPageToken: "" };
    },
    item: TriggerSchema,
    document: ({ items: triggers }) => documentOf(ListTriggersResponseSchema, { triggers }),
    row: ({ definition, changedTime }, output) => [
      clean(definition?.trigger ?? ""),
      definition ? sourceWords(definition) : "",
      definition ? actionWords(definition) : "",
      output.when(changedTime),
    ],
    nameOf: ({ definition }) => definition?.trigger ?? "",
    none: "no trigger: drover trigger put FILE --new-secret",
  });
}

function show({ definition, path, secretDigest, changedTime }: Trigger, output: Output): void {
  if (!definition) return;
  const lines = [
    ["trigger", clean(definition.trigger)],
    ["source", sourceWords(definition)],
    ["path", clean(path)],
    ["when", clean(definition.when)],
    ["action", actionWords(definition)],
    ...detailsOf(definition.action),
    [
      "secret",
      secretDigest && `stored; its SHA-256 starts with ${clean(secretDigest.slice(0, 12))}`,
    ],
    ["changed", timeWords(changedTime)],
  ];
  for (const [name = "", value = ""] of lines)
    if (value !== "") output.line(`${name.padEnd(14)}${value}`);
}

function addRefusals(trigger: Command, ended: Ended): void {
  const verb = trigger
    .command("refusals")
    .description("list refused events and the reasons, newest first, one line for each reason")
    .argument("[trigger]", "only of this trigger", "")
    .option("--limit <n>", "most lines", wholeNumber(1, refusalsMax), 50);
  addList(verb, ended, {
    headers: ["LAST", "TRIGGER", "COUNT", "REASON", "RUN", "WHY"],
    async read({ operator, namespace }, { limit }: { readonly limit: number }, [name = ""]) {
      const asked = { namespace, trigger: name, pageSize: limit };
      const { refusals } = await operator.listRefusals(asked);
      return { items: refusals, nextPageToken: "" };
    },
    item: RefusalSchema,
    document: ({ items: refusals }) => documentOf(ListRefusalsResponseSchema, { refusals }),
    row: (one, output) => [
      output.when(one.lastTime),
      clean(one.trigger),
      String(one.count),
      clean(one.reason),
      clean(one.runId),
      clean(one.message),
    ],
    none: "no refusal",
  });
}

function addTry(trigger: Command, ended: Ended): void {
  trigger
    .command("try")
    .description("show what a trigger would do, and do nothing")
    .argument("[trigger]", "name of a stored trigger")
    .option("--file <file>", "a trigger that is not stored yet, in YAML or JSON; - for a pipe")
    .option("--body <json>", "the body of the event: JSON, or @FILE, or @- for a pipe")
    .option("--header <name=value>", "a header; may be given again", addLabel)
    .option("--query <name=value>", "a parameter of the query; may be given again", addLabel)
    .option("--run <run>", "for a trigger on the end of runs: id of an ended run, or key:NAME")
    .action(async (name: string | undefined, options: TryOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const of = toTry(name, options);
      const body = readPayload(options.body, "--body");
      const { operator, namespace } = connect();
      const { header: headers = {}, query = {}, run } = options;
      const answer = await operator.tryTrigger({
        namespace,
        of,
        headers: { ...headers },
        query: { ...query },
        ...(body && { body }),
        ...(run === undefined ? {} : { run: runRefOf(run, {}) }),
      });
      output.data(TryTriggerResponseSchema, answer);
      if (output.format === "table") printTried(answer, output);
      ended(exitCodes.done);
    });
}

function toTry(name: string | undefined, { file }: TryOptions) {
  if ((name === undefined) === (file === undefined))
    throw usageFailure("which trigger? Give its name or --file", "drover trigger list");
  return file === undefined
    ? { case: "name" as const, value: name ?? "" }
    : { case: "text" as const, value: readText(file) };
}

function printTried(answer: TryTriggerResponse, output: Output): void {
  if (!answer.passes) {
    output.line("nothing: its `when` is false");
    return;
  }
  output.line(actionWords(answer));
  for (const [name, value] of detailsOf(answer.action))
    if (value !== "") output.line(`  ${name.padEnd(12)}${value}`);
}
