/**
 * docs/reference/errors: a page for each error reason, and an index of them. The meaning is the
 * comment in proto/drover/v1/error_reason.proto, the code the one that a server answers.
 */
import type { DescEnumValue, DescFile } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";
import { CodeSchema } from "@drover/proto/google/rpc/code_pb.ts";
import { answerOf } from "../server/api/calls/errors.ts";
import { DroverError, type Reason } from "../server/errors.ts";
import { ERROR_DETAILS, type Repeat } from "./error-details.ts";
import { cellText, markdownTable, markdownText } from "./markdown-text.ts";

const NOTE =
  "<!-- Made by `node docs/generate.ts` from the contract and docs/error-details.ts: change those, not this page. -->";
const PREFIX = "ERROR_REASON_";

/** By their names in the folder. */
export function errorPages(files: readonly DescFile[]): ReadonlyMap<string, string> {
  const entries = entriesOf(files);
  return new Map([
    ["README.md", indexPage(entries)],
    ...entries.map((entry) => [`${entry.reason}.md`, reasonPage(entry)] as const),
  ]);
}

interface Entry {
  readonly reason: Reason;
  readonly code: string;
  readonly hasRetryInfo: boolean;
  /** Without the code, which begins the comment. */
  readonly meaning: string;
}

function entriesOf(files: readonly DescFile[]): readonly Entry[] {
  const reasons = files.flatMap(({ enums }) => enums).find(({ name }) => name === "ErrorReason");
  if (!reasons) throw new Error("the contract has no enum ErrorReason");
  return reasons.values
    .filter(({ number }) => number !== 0)
    .map(entryOf)
    .sort((a, b) => (a.reason < b.reason ? -1 : 1));
}

function entryOf(value: DescEnumValue): Entry {
  const reason = value.name.replace(PREFIX, "");
  if (!isReason(reason)) throw new Error(`docs/error-details.ts has no row for ${reason}: add it`);
  const { code, details } = answerOf(new DroverError(reason, ""));
  const answered = CodeSchema.value[code]?.name ?? String(code);
  const comment = (getComments(value).leading ?? "").replace(/^ /gm, "").trim();
  const [, stated = "", meaning = ""] = /^([A-Z_]+)(?:, [^.]*)?\.\s+(.*)$/s.exec(comment) ?? [];
  if (stated !== answered)
    throw new Error(`${value.name} is answered ${answered}: its comment must begin with that`);
  const hasRetryInfo = details.some(({ desc }) => desc.name === "RetryInfo");
  return { reason, code: stated, hasRetryInfo, meaning };
}

function isReason(name: string): name is Reason {
  return Object.hasOwn(ERROR_DETAILS, name);
}

const REPEAT: Readonly<Record<Repeat, { readonly short: string; readonly long: string }>> = {
  never: {
    short: "no use",
    long: "Repeating the call unchanged does no harm and fails again.",
  },
  later: {
    short: "after a change",
    long: "Nothing was done, and repeating the call does no harm. It fails again until what it asks for has changed.",
  },
  delay: {
    short: "after a delay",
    long: "Nothing was done. Repeat the call unchanged, after the delay of RetryInfo where the error has one, else with backoff.",
  },
  unknown: {
    short: "yes, unchanged",
    long: "The call may have taken effect. Repeat it unchanged, with backoff: a call that is repeated takes effect once.",
  },
};

function indexPage(entries: readonly Entry[]): string {
  const rows = entries.map(({ reason, code, meaning }) => [
    `[${reason}](${reason}.md)`,
    code,
    REPEAT[ERROR_DETAILS[reason].repeat].short,
    cellText(/^.*?[.:;](?=\s|$)/s.exec(meaning)?.[0].replace(/[:;]$/, ".") ?? meaning),
  ]);
  return `${[
    "# Error reasons",
    NOTE,
    "This page lists every reason for which a server refuses a call or an item of a call. Each has a page: what it means, where it arises, what to do, and whether to repeat the call.",
    "An error has a gRPC code, a sentence for people, and google.rpc.ErrorInfo with the domain `drover` and the reason. Programs decide by the reason: the sentence may change. For a reason that your program does not know, use the code. An error without ErrorInfo was made by gRPC, or by a proxy, before the call reached a server: [agent_service.proto](../api/agent-service.md) says what an agent does then. The SDKs repeat by themselves what is worth repeating.",
    `${markdownTable(["reason", "gRPC code", "repeat", "meaning"], rows)}`,
  ].join("\n\n")}\n`;
}

function reasonPage({ reason, code, hasRetryInfo, meaning }: Entry): string {
  const { arises, repeat, example } = ERROR_DETAILS[reason];
  const more = hasRetryInfo ? ", with RetryInfo" : "";
  return `${[
    `# ${reason}`,
    NOTE,
    `gRPC code: \`${code}\`${more}. All reasons: [error reasons](README.md).`,
    "## Meaning, and what to do",
    markdownText(meaning),
    "## Where it arises",
    arises,
    "## Repeating the call",
    REPEAT[repeat].long,
    "## Example",
    `> ${markdownText(`${code} ${reason}: ${example}`)}`,
  ].join("\n\n")}\n`;
}
