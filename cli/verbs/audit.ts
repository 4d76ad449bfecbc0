/** `drover audit list`: who changed what in a namespace, newest first. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type AuditEntry,
  AuditEntrySchema,
  ListAuditResponseSchema,
} from "@drover/proto/drover/v1/audit_pb.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addText, contextOf, parseTime, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { limitMax, noteMore, readPages, writeList } from "../lists.ts";
import { printTable } from "../table.ts";
import { clean, timeWords } from "../words.ts";

interface Subject {
  readonly kind: string;
  readonly name: string;
}

interface ListOptions {
  readonly run?: string;
  readonly subject?: Subject;
  readonly action?: readonly string[];
  readonly by?: string;
  readonly withToken?: string;
  readonly since?: Timestamp;
  readonly before?: Timestamp;
  readonly allNamespaces?: true;
  readonly limit: number;
  readonly all?: true;
}

export function addAuditVerbs(audit: Command, ended: Ended): void {
  audit
    .command("list")
    .description("list who changed what in the namespace, newest first")
    .addOption(
      new Option("--run <run>", "only changes of this run, by its id").conflicts("subject"),
    )
    .option("--subject <kind/name>", "only changes of this one, as queue/mail", parseSubject)
    .option("--action <action>", "only this action, as run.cancel; may be given again", addText)
    .option("--by <name>", "only by the person of this name")
    .option("--with-token <token>", "only with this API token, by its id or name")
    .option("--since <time>", "only from this time on, as 2026-01-31", parseTime)
    .option("--before <time>", "only before this time, as 2026-01-31T12:00Z", parseTime)
    .option("--all-namespaces", "changes that concern all namespaces, as of their tokens")
    .option("--limit <n>", "most entries to list", wholeNumber(1, limitMax), 50)
    .addOption(new Option("--all", "all entries, for an export").conflicts("limit"))
    .action(async (options: ListOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
      const request = requestOf(options, namespace);
      const page = await readPages<AuditEntry>(limit, async (next) => {
        const answer = await operator.listAudit({ ...request, ...next });
        return { items: answer.entries, nextPageToken: answer.nextPageToken };
      });
      const { items: entries, nextPageToken } = page;
      const answer = create(ListAuditResponseSchema, { entries, nextPageToken });
      writeList(output, [ListAuditResponseSchema, answer], [AuditEntrySchema, entries]);
      if (output.format === "table") printTable(output, HEADERS, entries.map(rowOf));
      if (entries.length === 0) output.note("no entry");
      noteMore(page, limit, output);
      ended(exitCodes.done);
    });
}

function requestOf(options: ListOptions, namespace: string) {
  const { run, action, by, withToken, since, before, allNamespaces } = options;
  const subject = run === undefined ? options.subject : { kind: "run", name: run };
  return {
    ...(allNamespaces ? { allNamespaces } : { namespace }),
    ...(subject ? { subject } : {}),
    actions: [...(action ?? [])],
    by: by ?? "",
    token: withToken ?? "",
    ...(since ? { after: since } : {}),
    ...(before ? { before } : {}),
  };
}

function parseSubject(text: string): Subject {
  const at = text.indexOf("/");
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError("Subjects are written as KIND/NAME, as queue/mail.");
  return { kind: text.slice(0, at), name: text.slice(at + 1) };
}

const HEADERS = ["TIME", "ACTION", "SUBJECT", "BY", "TOKEN", "FROM", "REASON", "DETAILS"];

function rowOf(entry: AuditEntry): readonly string[] {
  const { time, action, subject, by, tokenName, peer, reason, details } = entry;
  return [
    timeWords(time),
    clean(action),
    clean(`${subject?.kind}/${subject?.name}`),
    clean(by),
    clean(tokenName),
    clean(peer),
    clean(reason),
    clean(detailWords(details)),
  ];
}

function detailWords(details: JsonObject | undefined): string {
  return Object.entries(details ?? {})
    .map(([name, value]) => `${name}=${detailText(value)}`)
    .join(" ");
}

function detailText(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
