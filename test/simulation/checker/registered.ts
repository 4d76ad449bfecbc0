// Versions of workflows are what was acknowledged, and runs are of the version that was named: a
// part of G1.
import { isDeepStrictEqual } from "node:util";
import type { Definition } from "../../../server/core/definition/definition.ts";
import { planOf } from "../../../server/core/plan/plan.ts";
import { lostOf } from "./after-a-loss.ts";
import { callsTo, type Facts } from "./facts.ts";
import { schedulings } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

interface Version {
  readonly version: number;
  readonly definition: Definition;
  readonly created: boolean;
  /** Index of the answer in the record. */
  readonly index: number;
}

/**
 * Each acknowledged version has one content and each content one version, made once; a version that
 * was acknowledged is found from then on; a run that names it runs its content, and one that names
 * the default runs some content of that name.
 */
export function* lostVersions(facts: Facts): Iterable<Finding> {
  const known = acknowledged(facts);
  const lost = lostOf(facts);
  for (const [name, versions] of known) yield* confused(name, versions);
  for (const { call, ask, namespace, answers } of schedulings(facts)) {
    const { workflow } = ask;
    if (!workflow) continue;
    const name = `"${workflow.name}" of ${namespace}`;
    const which = workflow.version === 0 ? name : `version ${workflow.version} of ${name}`;
    const versions = (known.get(name) ?? []).filter(
      ({ version }) => workflow.version === 0 || version === workflow.version,
    );
    for (const { answer, at } of answers) {
      if (answer.kind === "refused" && answer.reason === "WORKFLOW_NOT_FOUND")
        if (versions.some(({ index }) => index < call.index))
          yield { runId: null, text: `${which} was registered, and not found at ${at}` };
      const run = answer.kind === "scheduled" ? facts.runs.get(answer.runId) : undefined;
      // The default may be a version whose registration was never answered. So may one whose number
      // was given out again, after a fail-over that lost the version that had it.
      if (!run || versions.length === 0) continue;
      const isSilent = workflow.version === 0 || (lost?.tables.includes("workflow") ?? false);
      const asked = isSilent ? askedFor(facts, workflow.name) : versions;
      if (asked.some(({ definition }) => isDeepStrictEqual(planOf(definition), run.plan))) continue;
      const { runId } = run.run;
      yield { runId, text: `run ${runId} was asked for as ${which}, and runs something else` };
    }
  }
}

function acknowledged(facts: Facts): ReadonlyMap<string, readonly Version[]> {
  const known = new Map<string, Version[]>();
  for (const { request, answers } of callsTo(facts, "RegisterWorkflow"))
    for (const { answer, index } of answers) {
      if (answer.kind !== "registered") continue;
      const name = `"${answer.name}" of ${request.namespace}`;
      const { version, created } = answer;
      const one = { version, created, index, definition: request.definition };
      known.set(name, [...(known.get(name) ?? []), one]);
    }
  return known;
}

function* confused(name: string, versions: readonly Version[]): Iterable<Finding> {
  for (const [index, one] of versions.entries())
    for (const other of versions.slice(index + 1)) {
      const isSame = isDeepStrictEqual(planOf(one.definition), planOf(other.definition));
      if (isSame !== (one.version === other.version))
        yield {
          runId: null,
          text: `${name} has ${isSame ? "one content" : "two contents"} as version ${one.version} and as version ${other.version}`,
        };
      else if (isSame && one.created && other.created)
        yield { runId: null, text: `version ${one.version} of ${name} was made twice` };
    }
}

function askedFor(facts: Facts, name: string): readonly { readonly definition: Definition }[] {
  return callsTo(facts, "RegisterWorkflow").flatMap(({ request }) =>
    request.definition.workflow === name ? [request] : [],
  );
}
