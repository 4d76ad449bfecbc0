// One change that a person or a token made: one line, which opens to show all that is known of it.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { AuditEntry as AuditMessage } from "@drover/proto/drover/v1/audit_pb.ts";
import { Link } from "wouter";
import { Entry } from "../../parts/entry.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts } from "../../parts/panel.tsx";
import { ShortId } from "../../parts/short-id.tsx";
import { auditWords, subjectAddress } from "../../words/audit-words.ts";
import { exactTime } from "../../words/time-words.ts";

export function AuditEntry({ of }: { readonly of: AuditMessage }) {
  const { time, action, subject, by, byVerified, tokenName, tokenId, peer, reason, details } = of;
  const kind = subject?.kind ?? "";
  const name = subject?.name ?? "";
  const who = by || tokenName || "an unnamed caller";
  const changed = Object.entries(details ?? {}).map(([key, value]) => `${key}: ${textOf(value)}`);
  return (
    <Entry
      at={time}
      head={
        <>
          <strong>
            <Foreign text={who} />
          </strong>
          {byVerified && <span>(verified)</span>}
          <span>{auditWords(action)}</span>
          <Subject kind={kind} name={name} />
        </>
      }
      summary={reason || changed.join(", ") || "Details"}
    >
      <Facts
        of={[
          ["Reason", reason],
          ["Changed", changed.join(", ")],
          ["Subject", `${kind}/${name}`],
          byVerified
            ? ["Name", `${by}, verified`]
            : ["Name given", by === "" ? "none" : `${by}, not verified`],
          byVerified
            ? ["Proved by", `a JWT or client certificate of ${tokenId}`]
            : [
                "API token",
                tokenId === "" ? "none required" : `${tokenName} (${tokenId}), verified`,
              ],
          ["From", peer || "the machine of the database"],
          ["Time", time ? exactTime(timestampMs(time)) : ""],
          ["Action", <code key="action">{action}</code>],
        ]}
      />
    </Entry>
  );
}

function Subject({ kind, name }: { readonly kind: string; readonly name: string }) {
  const address = subjectAddress(kind, name);
  const text = kind === "run" ? <ShortId of={name} /> : <Foreign text={name} />;
  return address === null ? text : <Link href={address}>{text}</Link>;
}

function textOf(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
