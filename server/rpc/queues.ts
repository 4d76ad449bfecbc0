// Queues: listed, paused, let go on.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { QueueLimits as LimitsMessage } from "@drover/proto/drover/v1/queue_pb.ts";
import { isLimited, type QueueLimits } from "../core/limits.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Pause, QueueRecord, QueueRef } from "../store/queues.ts";
import type { Store } from "../store/store.ts";
import type { Handlers } from "./mount.ts";
import type { Namespaces } from "./namespaces.ts";
import { parsePageToken } from "./page-token.ts";
import { pageOf } from "./run-list.ts";

export interface QueueCallDeps {
  readonly scheduler: Pick<Scheduler, "pauseQueue" | "resumeQueue" | "limitQueue">;
  readonly store: Pick<Store, "queues">;
  readonly namespaces: Namespaces;
}

type QueueCalls = "listQueues" | "pauseQueue" | "resumeQueue" | "setQueueLimits";

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
