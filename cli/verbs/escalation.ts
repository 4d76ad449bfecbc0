/** `drover escalation list`, `show` and `resolve`: escalations, and the answers of people. */
import {
  type GetEscalationResponse,
  GetEscalationResponseSchema,
  ListEscalationsResponseSchema,
  ResolveEscalationResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type Escalation, EscalationSchema } from "@drover/proto/drover/v1/run_pb.ts";
import type { RunRef } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { type Command, Option } from "commander";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { cutTexts, type Texts } from "../cut-texts.ts";
import {
  answerMeanings,
  claimedWords,
  closedWords,
  escalationName,
  resolveCommand,
  subjectWords,
} from "../escalation-words.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { readPayload } from "../input.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import type { Output } from "../output.ts";
import { printAttempts } from "../run-history.ts";
import { runRefOf } from "../run-ref.ts";
import { errorWords, printRunState, runOutcome } from "../run-words.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, timeWords, wholePayload } from "../words.ts";

interface ListOptions {
  readonly all?: boolean;
  readonly limit: number;
}

interface ResolveOptions extends ByOptions, ReasonOptions {
  readonly answer: string;
  readonly payload?: string;
}

const named = "RUN/N as list prints it, or key:NAME/N";

export function addEscalationVerbs(escalation: Command, ended: Ended): void {
  addEscalationList(escalation, ended);
  escalation
    .command("show")
    .description("show an escalation: its history, and the answers that it accepts")
    .argument("<escalation>", named)
    .option("--full", "print long messages, input and output in full, as -o wide")
    .action(async (name: string, options: { readonly full?: boolean }, command: Command) => {
      const { output, connect } = contextOf(command, options);
      const { run, escalationId } = escalationRefOf(name);
      const { operator, namespace } = connect();
      const answer = await operator.getEscalation({ namespace, run, escalationId });
      output.data(GetEscalationResponseSchema, answer);
      if (output.format === "table") print(answer, cutTexts(output), output);
      ended(exitCodes.done);
    });
  addClaim(escalation, ended);
  addResolve(escalation, ended);
}

interface ClaimOptions extends ByOptions {
  readonly anyway?: boolean;
}

function addClaim(escalation: Command, ended: Ended): void {
  for (const verb of ["claim", "release"] as const)
    addChangeOptions(escalation.command(verb), { by: true })
      .description(
        verb === "claim"
          ? "mark an escalation as yours; others can still answer it"
          : "remove your claim from an escalation",
      )
      .argument("<escalation>", named)
      .option("--anyway", "even if another person has claimed it")
      .action(async (name: string, options: ClaimOptions, command: Command) => {
        const { output, connect } = contextOf(command);
        const { operator, namespace } = connect();
        const { anyway = false } = options;
        const by = personOf(options, command);
        const request = { namespace, ...escalationRefOf(name), by, anyway };
        const answer =
          verb === "claim"
            ? await operator.claimEscalation(request)
            : await operator.releaseEscalation(request);
        if (answer.escalation) output.data(EscalationSchema, answer.escalation);
        const did =
          verb === "claim" ? `claimed by ${clean(answer.escalation?.claimedBy || by)}` : "released";
        if (output.format === "table") output.line(`escalation ${clean(name)} ${did}`);
        ended(exitCodes.done);
      });
}

function addResolve(escalation: Command, ended: Ended): void {
  addChangeOptions(escalation.command("resolve"), { by: true, reason: "required" })
    .description("answer an escalation")
    .argument("<escalation>", named)
    .addOption(
      new Option("--answer <answer>", "an answer that drover escalation show lists")
        .choices(Object.keys(answerMeanings))
        .makeOptionMandatory(),
    )
    .option("--payload <json>", "the complete input for retry-changed, or the output for succeed")
    .action(async (name: string, options: ResolveOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { run, escalationId } = escalationRefOf(name);
      const { answer, reason: why } = options;
      const by = personOf(options, command);
      const payload = readPayload(options.payload, "--payload");
      if (answer === "retry-changed" && payload === undefined)
        throw usageFailure(
          "retry-changed needs the complete new input",
          "--payload JSON; or --answer retry, which keeps the input",
        );
      const { operator, namespace } = connect();
      const request = { namespace, run, escalationId, answer, by, why };
      const resolved = await operator.resolveEscalation({
        ...request,
        ...(payload && { payload }),
      });
      output.data(ResolveEscalationResponseSchema, resolved);
      const did = resolved.repeated ? "was answered before" : "answered";
      if (output.format === "table") output.line(`escalation ${clean(name)} ${did}: ${answer}`);
      printRunState(resolved.run, output);
      ended(exitCodes.done);
    });
}

/** The number follows the last slash: a key may contain slashes. */
function escalationRefOf(name: string): { run: RunRef; escalationId: string } {
  const at = name.lastIndexOf("/");
  const run = name.slice(0, Math.max(at, 0));
  const escalationId = name.slice(at + 1);
  if (run === "" || escalationId === "")
    throw usageFailure(
      `"${clean(name)}" does not name an escalation: write RUN/N`,
      "drover escalation list",
    );
  return { run: runRefOf(run, {}), escalationId };
}

function addEscalationList(escalation: Command, ended: Ended): void {
  const verb = escalation
    .command("list")
    .description("list escalations, of the newest runs first")
    .option("--all", "include closed escalations")
    .option("--limit <n>", "most escalations to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["ESCALATION", "WORKFLOW", "STEP", "REASON", "OPENED", "CLOSED", "MESSAGE"],
    read: ({ operator, namespace }, { all = false, limit }: ListOptions) =>
      readPages<Escalation>(limit, async (page) => {
        const answer = await operator.listEscalations({ namespace, includeClosed: all, ...page });
        return { items: answer.escalations, nextPageToken: answer.nextPageToken };
      }),
    item: EscalationSchema,
    document: ({ items: escalations, nextPageToken }) =>
      documentOf(ListEscalationsResponseSchema, { escalations, nextPageToken }),
    row: (one, output) => [
      escalationName(one),
      clean(one.workflow),
      subjectWords(one),
      clean(one.reason),
      output.when(one.openedTime),
      output.when(one.closedTime),
      clean(one.message),
    ],
    nameOf: escalationName,
    none: "no escalation",
    notes: ({ items: [first] }, output) => {
      if (first) output.next(`drover escalation show ${escalationName(first)}`);
    },
  });
}

function print(answer: GetEscalationResponse, texts: Texts, output: Output): void {
  const { escalation, run, step, attempts, effectKey } = answer;
  if (escalation === undefined) return;
  const { answers } = escalation;
  printPairs(output, [
    ["escalation", escalationName(escalation)],
    ["reason", clean(escalation.reason)],
    ["message", clean(escalation.message)],
    ["workflow", clean(escalation.workflow)],
    ["run", run ? runOutcome(run, output) : ""],
    ["step", subjectWords(escalation)],
    ["error", errorWords(step?.error)],
    ["key", clean(effectKey)],
    ["run input", texts.payload(wholePayload(run?.input))],
    ["output", texts.payload(wholePayload(step?.output))],
    ["opened", timeWords(escalation.openedTime)],
    ["deadline", timeWords(escalation.deadlineTime)],
    ["claimed", claimedWords(escalation)],
    ["closed", closedWords(escalation)],
  ]);
  if (attempts.length > 0) output.line(`\n${output.paint("bold", "attempts")}`);
  printAttempts(attempts, texts, output);
  if (texts.cut) output.next(`drover escalation show ${escalationName(escalation)} --full`);
  if (answers.length === 0) return;
  output.line(`\n${output.paint("bold", "answers")}`);
  const rows = answers.map((one) => [clean(one), answerMeanings[one] ?? ""]);
  printTable(output, ["ANSWER", "THEN"], rows);
  output.next(resolveCommand(escalation));
}
