/** `drover audit list`: who changed what in a namespace, newest first. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type AuditEntry,
  AuditEntrySchema,
  ListAuditResponseSchema,
} from "@drover/proto/drover/v1/audit_pb.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addText, parseTime, wholeNumber } from "../context.ts";
import type { Ended } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import { clean, statedName } from "../words.ts";

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
  readonly cluster?: true;
  readonly limit: number;
  readonly all?: true;
}

export function addAuditVerbs(audit: Command, ended: Ended): void {
  const verb = audit
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
    .addOption(
      new Option(
        "--cluster",
        "only changes that belong to no namespace, as of tokens for all of them",
      ).conflicts("allNamespaces"),
    )
    .option("--limit <n>", "most entries to list", wholeNumber(1, limitMax), 50)
    .addOption(new Option("--all", "all entries, for an export").conflicts(["limit", "watch"]));
  addList(verb, ended, {
    headers: ["TIME", "ACTION", "SUBJECT", "BY", "TOKEN", "FROM", "REASON", "DETAILS"],
    read({ operator, namespace }, options: ListOptions) {
      const request = requestOf(options, namespace);
      const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
      return readPages<AuditEntry>(limit, async (next) => {
        const answer = await operator.listAudit({ ...request, ...next });
        return { items: answer.entries, nextPageToken: answer.nextPageToken };
      });
    },
    item: AuditEntrySchema,
    document: ({ items: entries, nextPageToken }) =>
      documentOf(ListAuditResponseSchema, { entries, nextPageToken }),
    row: (one, output) => [
      output.when(one.time),
      clean(one.action),
      clean(`${one.subject?.kind}/${one.subject?.name}`),
      one.by === "" ? "" : statedName(one.by, one.byVerified),
      clean(one.tokenName),
      clean(one.peer),
      clean(one.reason),
      clean(detailWords(one.details)),
    ],
    none: "no entry",
  });
}

function requestOf(options: ListOptions, namespace: string) {
  const { run, action, by, withToken, since, before, cluster } = options;
  const subject = run === undefined ? options.subject : { kind: "run", name: run };
  return {
    ...(cluster ? { allNamespaces: true } : { namespace }),
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

function detailWords(details: JsonObject | undefined): string {
  return Object.entries(details ?? {})
    .map(([name, value]) => `${name}=${detailText(value)}`)
    .join(" ");
}

function detailText(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
