// Agents: who they are, what they poll for, and which tasks they hold.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  AgentInfoSchema,
  FailingAgentSchema,
  HeldTaskSchema,
} from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { TaskKind as CoreTaskKind } from "../../core/model/attempt.ts";
import { isFailing, sumOfAttempts } from "../../core/model/failing-agent.ts";
import { nameAt, type Plan } from "../../core/plan/plan.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import type { CircuitRecord, Cordon } from "../../store/circuits.ts";
import type { AgentRecord, FailingAgent, HeldTask } from "../../store/operators.ts";
import { progressMessage } from "../agent/convert-progress.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";
import { createRunLookup } from "../run/run-lookup.ts";
import { agentNotFound } from "./agent-not-found.ts";
import { circuitMessage, cordonMessage } from "./circuit-calls.ts";

export interface OperatorCallDeps {
  readonly store: Pick<WholeStore, "operators" | "reads" | "definition">;
  readonly namespaces: Namespaces;
}

const KINDS: Readonly<Record<CoreTaskKind, TaskKind>> = Object.freeze({
  perform: TaskKind.PERFORM,
  verify: TaskKind.VERIFY,
  compensate: TaskKind.COMPENSATE,
});

interface AgentCallDeps extends OperatorCallDeps {
  readonly store: OperatorCallDeps["store"] & Pick<WholeStore, "lists">;
}

/** Most circuits read for one page of agents. */
const CIRCUITS_MAX = 1_000;
/** Most tasks of an agent whose attempts are listed. */
const TASKS_MAX = 100;

export function createAgentCalls({
  store,
  namespaces,
}: AgentCallDeps): Pick<Handlers<typeof OperatorService>, "listAgents" | "getAgent"> {
  const { operators } = store;
  const plans = createPlans({ store, namespaces });

  async function messagesOf(namespaceId: number, records: readonly AgentRecord[]) {
    if (records.length === 0) return [];
    const agentIds = [...new Set(records.map(({ agentId }) => agentId))];
    const openCircuits = await store.lists.circuits(namespaceId, {
      agentIds,
      after: null,
      limit: CIRCUITS_MAX,
    });
    const cordons = await store.lists.cordons(namespaceId);
    return records.map((record) =>
      agentMessage(record, {
        circuits: openCircuits.filter(({ agentId }) => agentId === record.agentId),
        cordons: cordons.filter((cordon) => isOf(cordon, record)),
      }),
    );
  }

  return {
    async listAgents({ namespace, agentId: of, pageSize, pageToken }) {
      const { id } = await namespaces.find(namespace);
      const list = `agents ${id} ${of}`;
      const page = pageOf(list, pageSize);
      const last = parsePageToken(list, pageToken, (item) => parseAgentPosition(item) !== null);
      const after = last === null ? null : parseAgentPosition(last);
      const asked = { agentId: of || null, session: null, after, limit: page.limit + 1 };
      const rows = await operators.agents(id, asked);
      return {
        agents: await messagesOf(id, rows.slice(0, page.limit)),
        nextPageToken: page.nextToken(rows, ({ agentId, session }) => `${agentId} ${session}`),
      };
    },

    async getAgent({ namespace, session: bytes }) {
      const { id, name } = await namespaces.find(namespace);
      const session = Buffer.from(bytes).toString("hex");
      const asked = { agentId: null, session, after: null, limit: 1 };
      const found = await operators.agents(id, asked);
      const [agent] = await messagesOf(id, found);
      if (!agent) throw agentNotFound(session, name);
      const planOf = plans();
      const held = await operators.held(session);
      const tasks = held.map(async (task) => heldMessage(task, await planOf(task)));
      return { agent, tasks: await Promise.all(tasks) };
    },
  };
}

function isOf({ kind, name }: Cordon, { agentId, agentVersion, session }: AgentRecord): boolean {
  return name === { agent: agentId, version: agentVersion, session }[kind];
}

/** Plans for one answer; each is read once. */
export function createPlans({ store, namespaces }: OperatorCallDeps) {
  const runs = createRunLookup(store, namespaces);
  return () => {
    const known = new Map<number, Promise<Plan>>();
    return (of: { readonly definitionId: number }): Promise<Plan> => {
      const plan = known.get(of.definitionId) ?? runs.plan(of);
      known.set(of.definitionId, plan);
      return plan;
    };
  };
}

/** `AGENT SESSION`; null: the text names no agent. */
function parseAgentPosition(item: string) {
  const [, agentId = "", session = ""] =
    /^([A-Za-z0-9._-]{1,128}) ([0-9a-f]{32})$/.exec(item) ?? [];
  return session === "" ? null : { agentId, session };
}

/** Why an agent gets no new tasks, or no tasks of some kinds. */
interface Restrictions {
  readonly circuits: readonly CircuitRecord[];
  readonly cordons: readonly Cordon[];
}

function agentMessage(
  record: AgentRecord,
  { circuits, cordons }: Restrictions,
): MessageInitShape<typeof AgentInfoSchema> {
  return {
    id: record.agentId,
    session: Buffer.from(record.session, "hex"),
    version: record.agentVersion,
    labels: { ...record.labels },
    queues: [...(record.poll?.queues ?? [])],
    tasks: [...(record.poll?.tasks ?? [])],
    server: record.server,
    firstSeenTime: timestampFromMs(record.firstSeenAt),
    lastSeenTime: timestampFromMs(record.seenAt),
    ...timeField("lastHeartbeatTime", record.lastHeartbeatAt),
    ...timeField("lastSuccessTime", record.succeededAt),
    ...timeField("silentSinceTime", record.silentSince),
    held: record.held,
    host: record.host,
    pid: record.pid ?? 0,
    capacity: record.capacity ?? 0,
    ...timeField("startedTime", record.startedAt),
    ...(record.clockAheadMs === null ? {} : { clockAhead: durationFromMs(record.clockAheadMs) }),
    attempts: sumOfAttempts(record.attempts),
    taskAttempts: record.attempts.slice(0, TASKS_MAX).map(({ queue, task, ...attempts }) => {
      return { queue, task, attempts, failing: isFailing(attempts) };
    }),
    circuits: circuits.map(circuitMessage),
    cordons: cordons.map(cordonMessage),
  };
}

export function failingMessage({
  agentId,
  session,
  agentVersion,
  host,
  pid,
  queue,
  task,
  own,
  others,
}: FailingAgent): MessageInitShape<typeof FailingAgentSchema> {
  return {
    agentId,
    session: Buffer.from(session, "hex"),
    version: agentVersion,
    host,
    pid: pid ?? 0,
    queue,
    task,
    attempts: own,
    others,
  };
}

function heldMessage(task: HeldTask, plan: Plan): MessageInitShape<typeof HeldTaskSchema> {
  const { runId, workflow, queue, fence, attempt, cancelling, progress } = task;
  return {
    runId,
    workflow,
    queue,
    task: task.task,
    fence,
    attempt,
    cancelling,
    stepId: nameAt(plan, task.step),
    kind: KINDS[task.kind],
    grantedTime: timestampFromMs(task.since),
    attemptDeadlineTime: timestampFromMs(task.attemptBy),
    ...(progress === null
      ? {}
      : {
          progress: progressMessage(progress),
          progressTime: timestampFromMs(task.progressAt),
        }),
  };
}
