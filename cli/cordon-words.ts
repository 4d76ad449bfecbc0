/** A cordon in words: its agents, its author, its reason, and how to remove it. */
import type { Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import { instanceWords } from "./agent-instances.ts";
import { clean } from "./words.ts";

/** `agents of version "2.0" are cordoned by ada: it leaks` */
export function cordonWords(cordon: Cordon): string {
  const { of, cordonedBy, why } = cordon;
  const because = why === "" ? "" : `: ${clean(why)}`;
  const are = of.case === "version" ? "are" : "is";
  return `${cordonedWords(cordon)} ${are} cordoned by ${clean(cordonedBy)}${because}`;
}

/** `agent "mail-1"`, `agents of version "2.0"`, `instance 3f2a91bc of agent "mail-1"` */
function cordonedWords({ of, sessionAgentId }: Cordon): string {
  switch (of.case) {
    case "version":
      return `agents of version "${clean(of.value)}"`;
    case "session":
      return `instance ${instanceWords(of.value)} of agent "${clean(sessionAgentId)}"`;
    default:
      return `agent "${clean(of.value ?? "")}"`;
  }
}

export function uncordonCommand({ of, sessionAgentId }: Cordon): string {
  switch (of.case) {
    case "version":
      return `drover agent uncordon --agent-version ${clean(of.value)}`;
    case "session":
      return `drover agent uncordon ${clean(sessionAgentId)} --instance ${instanceWords(of.value)}`;
    default:
      return `drover agent uncordon ${clean(of.value ?? "")}`;
  }
}
