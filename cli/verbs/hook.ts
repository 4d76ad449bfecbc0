/** `drover hook put`, `list`, `delete`, `deliveries`: webhooks, and whether they were delivered. */
import { randomBytes } from "node:crypto";
import { type Delivery, DeliverySchema, HookSchema } from "@drover/proto/drover/v1/hook_pb.ts";
import {
  DeleteHookResponseSchema,
  ListDeliveriesResponseSchema,
  ListHooksResponseSchema,
  PutHookResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes, notThere } from "../failure.ts";
import { readText } from "../input.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { clean } from "../words.ts";

interface PutOptions {
  readonly event: readonly string[];
  readonly secretFile?: string;
  readonly newSecret?: boolean;
}

interface DeliveryOptions {
  readonly hook: string;
  readonly state: readonly string[];
  readonly limit: number;
}

const events = [
  "escalation-opened",
  "escalation-reminder",
  "escalation-closed",
  "run-ended",
  "approval-requested",
];
const states = ["pending", "delivered", "given-up"];
const secretBytes = 32;
const digestShown = 12;

export function addHookVerbs(hook: Command, ended: Ended): void {
  addPut(hook, ended);
  addHookList(hook, ended);
  hook
    .command("delete")
    .description("delete a hook; its undelivered webhooks are given up")
    .argument("<hook>", "name of the hook")
    .action(async (name: string, _options: unknown, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const answer = await operator.deleteHook({ namespace, name });
      output.data(DeleteHookResponseSchema, answer);
      if (!answer.deleted) throw notThere(`there is no hook "${name}"`, "drover hook list");
      if (output.format === "table") output.line(`hook ${clean(name)} deleted`);
      ended(exitCodes.done);
    });
  addDeliveries(hook, ended);
}

function addHookList(hook: Command, ended: Ended): void {
  const verb = hook.command("list").description("list the hooks of the namespace");
  addList(verb, ended, {
    headers: ["HOOK", "URL", "EVENTS", "SECRET", "CHANGED"],
    async read({ operator, namespace }) {
      const { hooks } = await operator.listHooks({ namespace });
      return { items: hooks, nextPageToken: "" };
    },
    item: HookSchema,
    document: ({ items: hooks }) => documentOf(ListHooksResponseSchema, { hooks }),
    row: (one, output) => [
      ...[one.name, one.url, one.events.join(" ") || "runs that name it"].map(clean),
      one.secretDigest.slice(0, digestShown),
      output.when(one.changedTime),
    ],
    nameOf: ({ name }) => name,
    none: "no hook: drover hook put NAME URL --new-secret",
  });
}

function addPut(hook: Command, ended: Ended): void {
  hook
    .command("put")
    .description("create or change a hook")
    .argument("<hook>", "name of the hook")
    .argument("<url>", "the URL to call: http or https")
    .addOption(
      new Option("--event <event>", "an event to send; may be given again")
        .choices(events)
        .argParser(oneMore(events))
        .default([], "ends of runs that name it"),
    )
    .addOption(
      new Option(
        "--secret-file <file>",
        "the file with the secret that signs its webhooks; - for a pipe",
      ).conflicts("newSecret"),
    )
    .option("--new-secret", "create a secret, and print it once")
    .action(async (name: string, url: string, options: PutOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const secret = secretOf(options);
      const request = { namespace, name, url, events: [...options.event], secret };
      const answer = await operator.putHook(request);
      output.data(PutHookResponseSchema, answer);
      if (output.format === "table")
        output.line(`hook ${clean(name)} ${answer.created ? "created" : "changed"}`);
      if (options.newSecret) output.note(`secret ${secret}: store it, it is not shown again`);
      ended(exitCodes.done);
    });
}

/** A secret is no argument: all users of a machine can read the arguments of its processes. */
function secretOf({ secretFile, newSecret }: PutOptions): string {
  if (newSecret) return randomBytes(secretBytes).toString("hex");
  return secretFile === undefined ? "" : readText(secretFile).replace(/\r?\n$/, "");
}

/** Replaces Commander's `choices` for options that may be repeated. */
function oneMore(allowed: readonly string[]) {
  return (value: string, before: readonly string[]): readonly string[] => {
    if (!allowed.includes(value))
      throw new InvalidArgumentError(`Allowed choices are ${allowed.join(", ")}.`);
    return [...new Set([...before, value])];
  };
}

function addDeliveries(hook: Command, ended: Ended): void {
  const verb = hook
    .command("deliveries")
    .description("list webhooks, newest first: pending, delivered, given up")
    .option("--hook <hook>", "only those of this hook", "")
    .addOption(
      new Option("--state <state>", "only those in this state; may be given again")
        .choices(states)
        .argParser(oneMore(states))
        .default([], "all"),
    )
    .option("--limit <n>", "most webhooks to list", wholeNumber(1, limitMax), 50);
  addList(verb, ended, {
    headers: ["MADE", "HOOK", "ABOUT", "COUNT", "ABOUT", "STATE", "TRIES", "NEXT", "ERROR"],
    read: ({ operator, namespace }, options: DeliveryOptions) => {
      const asked = { namespace, hook: options.hook, states: [...options.state] };
      return readPages<Delivery>(options.limit, async (page) => {
        const answer = await operator.listDeliveries({ ...asked, ...page });
        return { items: answer.deliveries, nextPageToken: answer.nextPageToken };
      });
    },
    item: DeliverySchema,
    document: ({ items: deliveries, nextPageToken }) =>
      documentOf(ListDeliveriesResponseSchema, { deliveries, nextPageToken }),
    row: (one, output) => [
      output.when(one.createdTime),
      clean(one.hook),
      clean(one.kind),
      String(one.count),
      clean(one.escalationId === "" ? one.runId : `${one.runId}/${one.escalationId}`),
      clean(one.state),
      String(one.tries),
      output.when(one.nextTryTime),
      clean(one.error),
    ],
    none: "no webhooks",
  });
}
