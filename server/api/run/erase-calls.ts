// EraseRun: deletes a run that has ended with all that is stored of it, for requests about the data
// of a person. Unlike the retention of its namespace it also deletes the key of the run, and what
// the audit says of it.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  EraseRunRequest,
  EraseRunResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { DroverError } from "../../errors.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { AuditDetails } from "../../store/audit.ts";
import type { Erased } from "../../store/namespaces.ts";
import type { Who } from "../calls/audit-entry.ts";
import { runEntry } from "./run-commands.ts";
import type { FoundRun, RunLookup } from "./run-lookup.ts";

type EraseStore = Pick<AllShards, "namespaces">;

interface EraseCallDeps {
  readonly store: EraseStore;
}

export function createEraseCalls({ store }: EraseCallDeps, runs: RunLookup) {
  return {
    async eraseRun(
      { namespace, run, reason }: EraseRunRequest,
      who: Who,
    ): Promise<MessageInitShape<typeof EraseRunResponseSchema>> {
      const found = await runs.find(namespace, run);
      const workflow = await eraseRun(store, found, who, { reason });
      return { runId: found.ref.runId, workflow };
    },
  };
}

/** Returns the name of the workflow. Throws RUN_NOT_FOUND and RUN_STATE. */
export async function eraseRun(
  store: EraseStore,
  run: Pick<FoundRun, "namespace" | "ref">,
  who: Who,
  more: { readonly reason: string; readonly details?: AuditDetails },
): Promise<string> {
  const { namespace, ref } = run;
  const entry = runEntry(who, "run.erase", run, more);
  const erased = await store.namespaces.eraseRun(namespace.id, ref.runId, entry);
  switch (erased.kind) {
    case "erased":
      return erased.workflow;
    case "unknown":
      throw new DroverError(
        "RUN_NOT_FOUND",
        `There is no run "${ref.runId}" in the namespace "${namespace.name}": it has been removed.`,
        { metadata: { name: ref.runId } },
      );
    case "open":
      throw new DroverError("RUN_STATE", openWords(ref.runId, erased), {
        metadata: { run_id: erased.runId, state: erased.state },
      });
  }
}

function openWords(
  runId: string,
  { relative, runId: open, state }: Extract<Erased, { kind: "open" }>,
): string {
  const next = "wait until it has ended, or cancel it first";
  const which = { run: "it", parent: `its parent ${open}`, child: `its child ${open}` }[relative];
  return `The run ${runId} cannot be erased: ${which} has not ended (${state}): ${next}.`;
}
