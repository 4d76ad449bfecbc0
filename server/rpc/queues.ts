// Queues: listed, limited, paused, let go on; and so namespaces and workflows.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { QueueLimits as LimitsMessage } from "@drover/proto/drover/v1/queue_pb.ts";
import { isLimited, type QueueLimits } from "../core/limits.ts";
import { DroverError } from "../errors.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Pause, QueueRecord, QueueRef } from "../store/queues.ts";
import type { Store } from "../store/store.ts";
import type { Handlers } from "./mount.ts";
import type { Namespaces } from "./namespaces.ts";
import { parsePageToken } from "./page-token.ts";
import { pageOf } from "./run-list.ts";

export interface QueueCallDeps {
  readonly scheduler: Pick<Scheduler, Control>;
  readonly store: Pick<Store, "queues">;
  readonly namespaces: Namespaces;
}

/** What the calls of this file ask of the scheduler. */
export type Control =
  | "pauseQueue"
  | "resumeQueue"
  | "limitQueue"
  | "pauseWorkflow"
  | "resumeWorkflow";

type QueueCalls =
  | "listQueues"
  | "pauseQueue"
  | "resumeQueue"
  | "setQueueLimits"
  | "pauseNamespace"
  | "resumeNamespace"
  | "pauseWorkflow"
  | "resumeWorkflow";

export function createQueueCalls({
  scheduler,
  store: { queues },
  namespaces,
}: QueueCallDeps): Pick<Handlers<typeof OperatorService>, QueueCalls> {
  async function refOf(request: { namespace: string; queue: string }): Promise<QueueRef> {
    const namespace = await namespaces.find(request.namespace);
    return { namespaceId: namespace.id, queue: request.queue };
  }

  async function queueNow({ namespaceId, queue }: QueueRef) {
    const [record] = await queues.list(namespaceId, { names: [queue], after: null, limit: 1 });
    return record ? { queue: queueMessage(record) } : {};
  }

  return {
    async listQueues({ namespace: name, pageSize, pageToken }) {
      const { id } = await namespaces.find(name);
      const list = `queues ${id}`;
      const page = pageOf(list, pageSize);
      const after = parsePageToken(list, pageToken, (item) => item !== "");
      const rows = await queues.list(id, { names: null, after, limit: page.limit + 1 });
      const pause = await queues.namespacePause(id);
      return {
        queues: rows.slice(0, page.limit).map(queueMessage),
        nextPageToken: page.nextToken(rows, (row) => row.name),
        ...(pause ? { namespacePause: pauseMessage(pause) } : {}),
      };
    },
    async pauseQueue(request) {
      const of = await refOf(request);
      await scheduler.pauseQueue(of, request.reason);
      return await queueNow(of);
    },
    async resumeQueue(request) {
      const of = await refOf(request);
      await scheduler.resumeQueue(of);
      return await queueNow(of);
    },
    async setQueueLimits(request) {
      const of = await refOf(request);
      await scheduler.limitQueue(of, limitsFrom(request.limits));
      return await queueNow(of);
    },
    async pauseNamespace({ namespace, reason }) {
      const { id: namespaceId } = await namespaces.find(namespace);
      const pause = await scheduler.pauseQueue({ namespaceId, queue: "" }, reason);
      return { pause: pauseMessage(pause) };
    },
    async resumeNamespace({ namespace }) {
      const { id: namespaceId } = await namespaces.find(namespace);
      await scheduler.resumeQueue({ namespaceId, queue: "" });
      return {};
    },
    async pauseWorkflow({ namespace: of, workflow, reason }) {
      const namespace = await namespaces.find(of);
      const pause = await scheduler.pauseWorkflow({ namespaceId: namespace.id, workflow }, reason);
      if (pause) return { pause: pauseMessage(pause) };
      throw new DroverError(
        "WORKFLOW_NOT_FOUND",
        `There is no workflow "${workflow}" in the namespace "${namespace.name}": check its name.`,
        { metadata: { name: workflow } },
      );
    },
    async resumeWorkflow({ namespace, workflow }) {
      const { id: namespaceId } = await namespaces.find(namespace);
      await scheduler.resumeWorkflow({ namespaceId, workflow });
      return {};
    },
  };
}

function limitsFrom(limits: LimitsMessage | undefined): QueueLimits {
  const { leased = 0, perSecond = 0, burst = 0 } = limits ?? {};
  const rate = { perSecond, burst: burst === 0 ? Math.max(1, Math.ceil(perSecond)) : burst };
  return { leasesMax: leased === 0 ? null : leased, rate: perSecond === 0 ? null : rate };
}

function queueMessage({ name, ready, leased, pause, limits }: QueueRecord) {
  return {
    ...{ name, depth: ready, leased },
    ...(pause ? { pause: pauseMessage(pause) } : {}),
    ...(isLimited(limits) ? { limits: limitsMessage(limits) } : {}),
  };
}

function limitsMessage({ leasesMax, rate }: QueueLimits) {
  const { perSecond = 0, burst = 0 } = rate ?? {};
  return { leased: leasesMax ?? 0, perSecond, burst };
}

export function pauseMessage({ since, reason }: Pause) {
  return { sinceTime: timestampFromMs(since), reason };
}
