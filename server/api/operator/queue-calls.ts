// Queues: list, limit, pause, resume and pin them. Pauses of namespaces and workflows are here,
// too.
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { QueueLimits as LimitsMessage } from "@drover/proto/drover/v1/queue_pb.ts";
import { isLimited, type QueueLimits } from "../../core/model/limits.ts";
import { DroverError } from "../../errors.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { AuditAction, AuditEntry } from "../../store/audit.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import type { QueueActivity, QueueTask } from "../../store/operators.ts";
import type { Pin } from "../../store/pins.ts";
import type { Pause, QueueRecord, QueueRef, WorkflowRef } from "../../store/queues.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";
import { holdersMessage } from "./queue-holders.ts";

/** In a queue whose tasks wait for less, it does not matter what agents hold. */
const WAITS_LONG_MS = 5_000;

interface QueueCallDeps {
  readonly scheduler: Pick<Scheduler, Control>;
  readonly store: Pick<OperatorStore, "lists" | "operators">;
  readonly namespaces: Namespaces;
}

/** The methods of the scheduler that the calls of this file use. */
export type Control =
  | "pauseQueue"
  | "resumeQueue"
  | "limitQueue"
  | "pinQueue"
  | "unpinQueue"
  | "pauseWorkflow"
  | "resumeWorkflow";

type PauseCalls =
  | "pauseQueue"
  | "resumeQueue"
  | "pauseNamespace"
  | "resumeNamespace"
  | "pauseWorkflow"
  | "resumeWorkflow";
type QueueCalls =
  | "listQueues"
  | "getQueue"
  | "setQueueLimits"
  | "pinQueue"
  | "unpinQueue"
  | PauseCalls;

interface PauseCallDeps {
  readonly scheduler: Pick<
    Scheduler,
    "pauseQueue" | "resumeQueue" | "pauseWorkflow" | "resumeWorkflow"
  >;
  readonly namespaces: Namespaces;
}

interface QueueShown {
  readonly queue?: ReturnType<typeof queueMessage>;
}

/** `shown`: the queue's message in the answers. */
export function createPauseCalls(
  { scheduler, namespaces }: PauseCallDeps,
  shown: (of: QueueRef) => Promise<QueueShown>,
): Pick<Handlers<typeof OperatorService>, PauseCalls> {
  const refOf = queueRefs(namespaces);
  return {
    async pauseQueue(request, who) {
      const { reason } = request;
      const of = await refOf(request);
      await scheduler.pauseQueue(of, reason, queueEntry(who, "queue.pause", of, { reason }));
      return await shown(of);
    },
    async resumeQueue(request, who) {
      const of = await refOf(request);
      await scheduler.resumeQueue(of, queueEntry(who, "queue.resume", of));
      return await shown(of);
    },
    async pauseNamespace({ namespace, reason }, who) {
      const { id: namespaceId, name } = await namespaces.find(namespace);
      const subject = ["namespace", name] as const;
      const entry = auditEntry(who, { action: "namespace.pause", namespaceId, subject, reason });
      const pause = await scheduler.pauseQueue({ namespaceId, queue: "" }, reason, entry);
      return { pause: pauseMessage(pause) };
    },
    async resumeNamespace({ namespace }, who) {
      const { id: namespaceId, name } = await namespaces.find(namespace);
      const subject = ["namespace", name] as const;
      const entry = auditEntry(who, { action: "namespace.resume", namespaceId, subject });
      await scheduler.resumeQueue({ namespaceId, queue: "" }, entry);
      return {};
    },
    async pauseWorkflow({ namespace: of, workflow, reason }, who) {
      const namespace = await namespaces.find(of);
      const ref = { namespaceId: namespace.id, workflow };
      const entry = workflowEntry(who, "workflow.pause", ref, { reason });
      const pause = await scheduler.pauseWorkflow(ref, reason, entry);
      if (pause) return { pause: pauseMessage(pause) };
      throw noSuchWorkflow(namespace.name, workflow, 0);
    },
    async resumeWorkflow({ namespace, workflow }, who) {
      const { id: namespaceId } = await namespaces.find(namespace);
      const ref = { namespaceId, workflow };
      await scheduler.resumeWorkflow(ref, workflowEntry(who, "workflow.resume", ref));
      return {};
    },
  };
}

/** The queue that a request names. */
function queueRefs(namespaces: Namespaces) {
  return async (request: { readonly namespace: string; readonly queue: string }) => {
    const { id: namespaceId } = await namespaces.find(request.namespace);
    return { namespaceId, queue: request.queue };
  };
}

export function createQueueCalls({
  scheduler,
  store: { lists, operators },
  namespaces,
}: QueueCallDeps): Pick<Handlers<typeof OperatorService>, QueueCalls> {
  const refOf = queueRefs(namespaces);

  async function queueNow({ namespaceId, queue }: QueueRef) {
    const found = await lists.queues(namespaceId, { names: [queue], after: null, limit: 1 });
    const [message] = await messagesOf(namespaceId, found);
    return message ? { queue: message } : {};
  }

  async function messagesOf(namespaceId: number, records: readonly QueueRecord[]) {
    const names = records.map(({ name }) => name);
    const activities = await operators.queueActivity(namespaceId, names);
    return records.map((record, place) => queueMessage(record, activities[place]));
  }

  async function holdersOf(
    namespaceId: number,
    queue: ReturnType<typeof queueMessage> | undefined,
  ) {
    if (!queue?.oldestTime || queue.leased === 0) return {};
    const waitsMs = (await operators.now()) - timestampMs(queue.oldestTime);
    if (waitsMs < WAITS_LONG_MS) return {};
    const holdings = await operators.queueHoldings(namespaceId, queue.name);
    return holdings.length === 0 ? {} : { holders: holdersMessage(holdings, queue.leased) };
  }

  return {
    ...createPauseCalls({ scheduler, namespaces }, queueNow),
    async listQueues({ namespace: name, pageSize, pageToken }) {
      const { id } = await namespaces.find(name);
      const list = `queues ${id}`;
      const page = pageOf(list, pageSize);
      const after = parsePageToken(list, pageToken, (item) => item !== "");
      const rows = await lists.queues(id, { names: null, after, limit: page.limit + 1 });
      const pause = await lists.namespacePause(id);
      return {
        queues: await messagesOf(id, rows.slice(0, page.limit)),
        nextPageToken: page.nextToken(rows, (row) => row.name),
        ...(pause ? { namespacePause: pauseMessage(pause) } : {}),
      };
    },
    async getQueue(request) {
      const { namespaceId, queue } = await refOf(request);
      const pause = await lists.namespacePause(namespaceId);
      const shown = await queueNow({ namespaceId, queue });
      return {
        ...shown,
        ...(await holdersOf(namespaceId, shown.queue)),
        tasks: (await operators.queueTasks(namespaceId, queue)).map(taskMessage),
        pins: (await lists.pins(namespaceId, queue)).map(pinMessage),
        ...(pause ? { namespacePause: pauseMessage(pause) } : {}),
      };
    },
    async setQueueLimits(request, who) {
      const of = await refOf(request);
      const limits = limitsFrom(request.limits);
      const details = {
        leased: limits.leasesMax,
        per_second: limits.rate?.perSecond ?? null,
        burst: limits.rate?.burst ?? null,
      };
      await scheduler.limitQueue(of, limits, queueEntry(who, "queue.limits", of, { details }));
      return await queueNow(of);
    },
    async pinQueue({ namespace: of, queue, workflow, version, agentVersion }, who) {
      const namespace = await namespaces.find(of);
      const pin = { namespaceId: namespace.id, queue, workflow, version };
      const details = { workflow, version, agent_version: agentVersion };
      const entry = queueEntry(who, "queue.pin", pin, { details });
      if (!(await scheduler.pinQueue(pin, agentVersion, entry)))
        throw noSuchWorkflow(namespace.name, workflow, version);
      return { pins: (await lists.pins(namespace.id, queue)).map(pinMessage) };
    },
    async unpinQueue(request, who) {
      const { namespaceId, queue } = await refOf(request);
      const { workflow, version } = request;
      const pin = { namespaceId, queue, workflow, version };
      const entry = queueEntry(who, "queue.unpin", pin, { details: { workflow, version } });
      await scheduler.unpinQueue(pin, entry);
      return { pins: (await lists.pins(namespaceId, queue)).map(pinMessage) };
    },
  };
}

type More = Pick<Parameters<typeof auditEntry>[1], "reason" | "details">;

function queueEntry(
  who: Who,
  action: AuditAction,
  { namespaceId, queue }: QueueRef,
  more: More = {},
): AuditEntry {
  return auditEntry(who, { action, namespaceId, subject: ["queue", queue], ...more });
}

function workflowEntry(
  who: Who,
  action: AuditAction,
  { namespaceId, workflow }: WorkflowRef,
  more: More = {},
): AuditEntry {
  return auditEntry(who, { action, namespaceId, subject: ["workflow", workflow], ...more });
}

function noSuchWorkflow(namespace: string, workflow: string, version: number): DroverError {
  const what = version === 0 ? "workflow" : `version ${version} of a workflow`;
  const check = version === 0 ? "its name" : "its name, or register the version first";
  return new DroverError(
    "WORKFLOW_NOT_FOUND",
    `There is no ${what} "${workflow}" in the namespace "${namespace}": check ${check}.`,
    { metadata: { name: workflow } },
  );
}

function pinMessage({ workflow, version, agentVersion, at }: Pin) {
  return { workflow, version, agentVersion, pinnedTime: timestampFromMs(at) };
}

function limitsFrom(limits: LimitsMessage | undefined): QueueLimits {
  const { leased = 0, perSecond = 0, burst = 0 } = limits ?? {};
  const rate = { perSecond, burst: burst === 0 ? Math.max(1, Math.ceil(perSecond)) : burst };
  return { leasesMax: leased === 0 ? null : leased, rate: perSecond === 0 ? null : rate };
}

function queueMessage(record: QueueRecord, activity: QueueActivity | undefined) {
  const { name, ready, leased, pause, limits } = record;
  return {
    name,
    depth: ready,
    leased,
    agents: activity?.agents ?? 0,
    ...timeField("oldestTime", activity?.oldestAt ?? null),
    ...timeField("polledTime", activity?.polledAt ?? null),
    ...(pause ? { pause: pauseMessage(pause) } : {}),
    ...(isLimited(limits) ? { limits: limitsMessage(limits) } : {}),
  };
}

function taskMessage(of: QueueTask) {
  const { task, agentVersion, ready, leased, oldestAt, polledAt, agents } = of;
  return {
    task,
    depth: ready,
    leased,
    agents,
    agentVersion: agentVersion ?? "",
    ...timeField("oldestTime", oldestAt),
    ...timeField("polledTime", polledAt),
  };
}

function limitsMessage({ leasesMax, rate }: QueueLimits) {
  const { perSecond = 0, burst = 0 } = rate ?? {};
  return { leased: leasesMax ?? 0, perSecond, burst };
}

export function pauseMessage({ since, reason }: Pause) {
  return { sinceTime: timestampFromMs(since), reason };
}
