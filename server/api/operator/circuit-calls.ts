// Circuits and cordons: list them, set them by hand, and remove the setting.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type CircuitSchema,
  CircuitSetting,
  CircuitState,
  type CordonAgentRequest,
  type CordonSchema,
  type UncordonAgentRequest,
} from "@drover/proto/drover/v1/circuit_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { LaneCircuit } from "../../core/explain/explanation.ts";
import type { CircuitState as CoreState, Forced } from "../../core/model/circuit.ts";
import type { CircuitCalls, Scheduler } from "../../scheduler/scheduler.ts";
import type { AuditAction, AuditEntry } from "../../store/audit.ts";
import type {
  CircuitRecord,
  CircuitRef,
  Cordon,
  CordonKind,
  CordonRef,
} from "../../store/circuits.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";
import { agentNotFound } from "./agent-not-found.ts";

interface CircuitSettingDeps {
  readonly scheduler: Pick<Scheduler, CircuitCalls>;
  readonly namespaces: Namespaces;
}

interface CircuitListDeps {
  readonly store: Pick<OperatorStore, "lists">;
  readonly namespaces: Namespaces;
}

type CircuitSettings = "setCircuit" | "cordonAgent" | "uncordonAgent";

const STATES: Readonly<Record<CoreState["kind"], CircuitState>> = Object.freeze({
  closed: CircuitState.CLOSED,
  open: CircuitState.OPEN,
  trying: CircuitState.TRYING,
});

const SETTINGS: Readonly<Record<Exclude<Forced, null>, CircuitSetting>> = Object.freeze({
  open: CircuitSetting.OPEN,
  closed: CircuitSetting.CLOSED,
});

export function createCircuitSettings({
  scheduler,
  namespaces,
}: CircuitSettingDeps): Pick<Handlers<typeof OperatorService>, CircuitSettings> {
  return {
    async setCircuit({ namespace, queue, task, agentId, setting, by, why }, who) {
      const { id: namespaceId } = await namespaces.find(namespace);
      const forced = forcedOf(setting);
      const override = forced && { forced, by, why };
      const entry = auditEntry(who, {
        action: forced === null ? "circuit.release" : "circuit.set",
        namespaceId,
        subject: ["circuit", `${queue}/${task}`],
        by,
        reason: why,
        details: {
          ...(forced === null ? {} : { setting: forced }),
          ...(agentId === "" ? {} : { agent: agentId }),
        },
      });
      const lane = { namespaceId, queue, task };
      const circuit = await scheduler.setCircuit(lane, agentId, override, entry);
      return { circuit: circuitMessage(circuit) };
    },
    async cordonAgent(request, who) {
      const { by, why } = request;
      const of = await refOf(request);
      const entry = cordonEntry(who, "agent.cordon", of, { by, reason: why });
      const cordon = await scheduler.cordonAgent({ ...of, by, why }, entry);
      if (!cordon) throw agentNotFound(of.name, request.namespace || "default");
      return { cordon: cordonMessage(cordon) };
    },
    async uncordonAgent(request, who) {
      const of = await refOf(request);
      const entry = cordonEntry(who, "agent.uncordon", of);
      return { uncordoned: await scheduler.uncordonAgent(of, entry) };
    },
  };

  async function refOf({
    namespace,
    of,
  }: CordonAgentRequest | UncordonAgentRequest): Promise<CordonRef> {
    const { id: namespaceId } = await namespaces.find(namespace);
    switch (of.case) {
      case "agentId":
        return { namespaceId, kind: "agent", name: of.value };
      case "version":
        return { namespaceId, kind: "version", name: of.value };
      case "session":
        return { namespaceId, kind: "session", name: Buffer.from(of.value).toString("hex") };
      case undefined:
        throw new Error("a cordon of nothing has passed the rules");
    }
  }
}

function cordonEntry(
  who: Who,
  action: AuditAction,
  { namespaceId, kind, name }: CordonRef,
  more: { readonly by?: string; readonly reason?: string } = {},
): AuditEntry {
  const details = { of: kind };
  return auditEntry(who, { action, namespaceId, subject: ["agent", name], details, ...more });
}

export function createCircuitLists({
  store: { lists },
  namespaces,
}: CircuitListDeps): Pick<Handlers<typeof OperatorService>, "listCircuits" | "listCordons"> {
  return {
    async listCircuits({ namespace, pageSize, pageToken }) {
      const { id } = await namespaces.find(namespace);
      const list = `circuits ${id}`;
      const page = pageOf(list, pageSize);
      const token = parsePageToken(list, pageToken, (item) => placeOf(item) !== null);
      const after = token === null ? null : placeOf(token);
      const rows = await lists.circuits(id, { after, limit: page.limit + 1 });
      return {
        circuits: rows.slice(0, page.limit).map(circuitMessage),
        nextPageToken: page.nextToken(rows, ({ lane, agentId }) => `${lane} ${agentId}`),
      };
    },
    async listCordons({ namespace }) {
      const { id } = await namespaces.find(namespace);
      return { cordons: (await lists.cordons(id)).map(cordonMessage) };
    },
  };
}

function forcedOf(setting: CircuitSetting): Forced {
  if (setting === CircuitSetting.UNSPECIFIED) return null;
  return setting === CircuitSetting.OPEN ? "open" : "closed";
}

/**
 * `12 agent-1`, from a page token; null: the text is no circuit. Lane numbers go up to
 * 2,147,483,647.
 */
function placeOf(text: string): CircuitRef | null {
  const found = /^(\d{1,10}) ([A-Za-z0-9._-]{0,128})$/.exec(text);
  return found ? { lane: Number(found[1]), agentId: found[2] ?? "" } : null;
}

export function circuitMessage({
  queue,
  task,
  agentId,
  agentVersion,
  state,
  override,
  saw,
}: CircuitRecord): MessageInitShape<typeof CircuitSchema> {
  return {
    queue,
    task,
    agentId,
    saw,
    state: STATES[state.kind],
    agentVersion: agentVersion ?? "",
    cooldowns: state.kind === "closed" ? 0 : state.cooldowns,
    ...timeField("sinceTime", state.kind === "closed" ? null : state.since),
    ...timeField("tryTime", state.kind === "open" ? state.until : null),
    ...(override && {
      setting: SETTINGS[override.forced],
      setBy: override.by,
      why: override.why,
      setTime: timestampFromMs(override.at),
    }),
  };
}

/** The open circuit that keeps a task in its queue. */
export function laneCircuitMessage(
  queue: string,
  task: string,
  { since, until, isHalfOpen, override, saw }: LaneCircuit,
): MessageInitShape<typeof CircuitSchema> {
  return {
    queue,
    task,
    saw,
    state: isHalfOpen ? CircuitState.TRYING : CircuitState.OPEN,
    sinceTime: timestampFromMs(since),
    ...timeField("tryTime", until),
    ...(override && { setting: CircuitSetting.OPEN, setBy: override.by, why: override.why }),
    ...(override && { setTime: timestampFromMs(since) }),
  };
}

export function cordonMessage({
  kind,
  name,
  agentId,
  by,
  why,
  at,
}: Cordon): MessageInitShape<typeof CordonSchema> {
  return {
    of: cordonedOf(kind, name),
    sessionAgentId: agentId ?? "",
    cordonedBy: by,
    why,
    cordonedTime: timestampFromMs(at),
  };
}

function cordonedOf(kind: CordonKind, name: string) {
  switch (kind) {
    case "agent":
      return { case: "agentId", value: name } as const;
    case "version":
      return { case: "version", value: name } as const;
    case "session":
      return { case: "session", value: Buffer.from(name, "hex") } as const;
  }
}
