/** A cordon in words: its agents, its author, its reason, and how to remove it. */
import type { Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import { clean } from "./words.ts";

/** `agents of version "2.0" are cordoned by ada: it leaks` */
export function cordonWords({ of, cordonedBy, why }: Cordon): string {
  const name = clean(of.value ?? "");
  const agents = of.case === "version" ? `agents of version "${name}" are` : `agent "${name}" is`;
  const because = why === "" ? "" : `: ${clean(why)}`;
  return `${agents} cordoned by ${clean(cordonedBy)}${because}`;
}

export function uncordonCommand({ of }: Cordon): string {
  const name = clean(of.value ?? "");
  return `drover agent uncordon ${of.case === "version" ? `--agent-version ${name}` : name}`;
}
