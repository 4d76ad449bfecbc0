/** A cordon in words: which agents get no new tasks, who set it and why, and how to remove it. */
import type { Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import { clean } from "./words.ts";

/** `agents of version "2.0" get nothing new, said ada: it leaks` */
export function cordonWords({ of, cordonedBy, why }: Cordon): string {
  const name = clean(of.value ?? "");
  const whom = of.case === "version" ? `agents of version "${name}" get` : `agent "${name}" gets`;
  const because = why === "" ? "" : `: ${clean(why)}`;
  return `${whom} nothing new, said ${clean(cordonedBy)}${because}`;
}

export function uncordonCommand({ of }: Cordon): string {
  const name = clean(of.value ?? "");
  return `drover agent uncordon ${of.case === "version" ? `--agent-version ${name}` : name}`;
}
