// Finds the run that a request names, and reads it. A run of another namespace counts as not found.
import type { RunRef as RunRefMessage } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Definition } from "../../core/definition/definition.ts";
import { type Plan, planOf } from "../../core/plan/plan.ts";
import { DroverError } from "../../errors.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { partitionOf } from "../../store/partition.ts";
import type { DetailWanted, RunDetail, RunRecord } from "../../store/reads.ts";
import type { Namespace, RunRef } from "../../store/store.ts";
import { isUuid } from "../../uuid.ts";
import type { Namespaces } from "../calls/namespace-names.ts";

export interface FoundRun {
  readonly namespace: Namespace;
  readonly record: RunRecord;
  readonly ref: RunRef;
}

export interface RunLookup {
  /** Throws NAMESPACE_NOT_FOUND or RUN_NOT_FOUND. */
  find(namespace: string, run: RunRefMessage | undefined): Promise<FoundRun>;
  /** Reads the whole run again. Throws RUN_NOT_FOUND if it has been deleted meanwhile. */
  detail(found: FoundRun, wanted: DetailWanted): Promise<RunDetail>;
  record(found: FoundRun): Promise<RunRecord>;
  /** The definition that the run started with. */
  definition(record: Pick<RunRecord, "definitionId">): Promise<Definition>;
  plan(record: Pick<RunRecord, "definitionId">): Promise<Plan>;
}

export function createRunLookup(
  store: Pick<AllShards, "reads" | "definition">,
  namespaces: Namespaces,
): RunLookup {
  async function recordOf(namespace: Namespace, run: RunRefMessage | undefined) {
    const by = run?.ref;
    switch (by?.case) {
      case "runId": {
        const runId = by.value.toLowerCase();
        const found = isUuid(runId) ? await store.reads.findRun(namespace.id, { runId }) : null;
        return found ?? notFound(`There is no run with the id "${by.value}"`, namespace, by.value);
      }
      case "key": {
        const found = await store.reads.findRun(namespace.id, { key: by.value });
        return found ?? notFound(`There is no run with the key "${by.value}"`, namespace, by.value);
      }
      default:
        throw new Error("a run without a name has passed the rules");
    }
  }

  return Object.freeze<RunLookup>({
    async find(name: string, run: RunRefMessage | undefined): Promise<FoundRun> {
      const namespace = await namespaces.find(name);
      const record = await recordOf(namespace, run);
      const partition = partitionOf(namespace.region, record.runId);
      return { namespace, record, ref: { runId: record.runId, partition } };
    },
    async detail(run: FoundRun, wanted: DetailWanted): Promise<RunDetail> {
      return (await store.reads.runDetail(run.ref.runId, wanted)) ?? runRemoved(run);
    },
    async record(run: FoundRun): Promise<RunRecord> {
      const { namespace, ref } = run;
      return (await store.reads.findRun(namespace.id, ref)) ?? runRemoved(run);
    },
    definition: ({ definitionId }) => store.definition(definitionId),
    plan: async ({ definitionId }) => planOf(await store.definition(definitionId)),
  });
}

/** A run that was found, and has been deleted since. */
export function runRemoved({ namespace, ref: { runId } }: FoundRun): never {
  notFound(`The run "${runId}" has been removed`, namespace, runId);
}

function notFound(what: string, namespace: Namespace, name: string): never {
  throw new DroverError(
    "RUN_NOT_FOUND",
    `${what} in the namespace "${namespace.name}": check id or key; old runs are removed.`,
    { metadata: { name } },
  );
}
