/**
 * Circuits and cordons: which tasks are stopped because they fail, and which agents get no new
 * tasks.
 */
import type * as wire from "@drover/proto/drover/v1/circuit_pb.ts";
import { CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import type { PageSpec } from "./operations.ts";
import { namesOf, readTime } from "./runs.ts";

/** The circuit of a task of a queue, or of one agent that performs the task. */
export interface CircuitName {
  readonly queue: string;
  readonly task: string;
  /** Default: the circuit of the task itself, for all agents. */
  readonly agentId?: string;
}

/** Who makes a setting, as the caller states it; the server does not verify it. */
export interface SaySpec extends CallControl {
  readonly by: string;
  readonly why?: string;
}

export interface Circuit {
  readonly queue: string;
  readonly task: string;
  /** Empty: the circuit of the task itself. */
  readonly agentId: string;
  /**
   * Set for tasks that a pin restricts to agents of this version; a setting by a person applies to
   * all versions. Empty: tasks for all agents.
   */
  readonly agentVersion: string;
  /** State that the supervisor has set; `override` takes precedence over it. */
  readonly state: string;
  /** Since when it has not been closed. */
  readonly sinceTime: Date | null;
  /** From this time on one probe task is handed out. */
  readonly tryTime: Date | null;
  /** Number of cool-downs of this outage so far. */
  readonly cooldowns: number;
  /** What the supervisor found, for people. */
  readonly saw: string;
  /** The setting by a person; null: there is none, and the supervisor decides. */
  readonly override: {
    readonly setting: string;
    readonly by: string;
    readonly why: string;
    readonly time: Date | null;
  } | null;
}

export interface CircuitPage {
  /** The circuits that are not closed, or that a person has set. */
  readonly circuits: readonly Circuit[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** An agent by its id, one session of an agent (in hex), or all agents of a version. */
export type CordonName =
  | { readonly agentId: string }
  | { readonly session: string }
  | { readonly version: string };

export interface Cordon {
  /** null: the cordon is of a session or of a version. */
  readonly agentId: string | null;
  /** In hex; null: the cordon is of an agent or of a version. */
  readonly session: string | null;
  /** null: the cordon is of an agent or of a session. */
  readonly version: string | null;
  readonly by: string;
  readonly why: string;
  readonly time: Date | null;
}

export interface Circuits {
  list(options?: PageSpec): Promise<CircuitPage>;
  /** No task is handed out until the circuit is released, on every server within a second. */
  open(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /** All tasks are handed out until the circuit is released, whatever fails. */
  close(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /** Removes the setting: the circuit is closed then, and the supervisor evaluates new results. */
  release(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /**
   * The agents get no new tasks, on every server within a second; they may finish those they hold.
   * A session that no server knows is AGENT_NOT_FOUND.
   */
  cordon(of: CordonName, spec: SaySpec): Promise<Cordon>;
  /** `uncordoned` is false if they were not cordoned. */
  uncordon(of: CordonName, options?: CallControl): Promise<{ readonly uncordoned: boolean }>;
  /** The cordons of agents by id, then those of versions, then those of sessions. */
  cordons(options?: CallControl): Promise<readonly Cordon[]>;
}

const rpc = OperatorService.method;
const states = namesOf(CircuitState);
const settings = namesOf(CircuitSetting);

export function createCircuits(call: Call, namespace: string): Circuits {
  const say = (setting: CircuitSetting) => async (of: CircuitName, spec: SaySpec) => {
    const { queue, task, agentId = "" } = of;
    const { by, why = "", signal } = spec;
    const request = { namespace, queue, task, agentId, setting, by, why };
    const { circuit } = await call(rpc.setCircuit, request, { signal });
    return readCircuit(sent(circuit));
  };
  return Object.freeze({
    async list({ pageSize = 0, pageToken = "", signal }: PageSpec = {}): Promise<CircuitPage> {
      const request = { namespace, pageSize, pageToken };
      const { circuits, nextPageToken } = await call(rpc.listCircuits, request, { signal });
      return { circuits: circuits.map(readCircuit), nextPageToken };
    },

    open: say(CircuitSetting.OPEN),
    close: say(CircuitSetting.CLOSED),
    release: say(CircuitSetting.UNSPECIFIED),

    async cordon(of: CordonName, { by, why = "", signal }: SaySpec): Promise<Cordon> {
      const request = { namespace, of: toOf(of), by, why };
      return readCordon(sent((await call(rpc.cordonAgent, request, { signal })).cordon));
    },

    async uncordon(of: CordonName, { signal }: CallControl = {}) {
      const request = { namespace, of: toOf(of) };
      const { uncordoned } = await call(rpc.uncordonAgent, request, { signal });
      return { uncordoned };
    },

    async cordons({ signal }: CallControl = {}): Promise<readonly Cordon[]> {
      const { cordons } = await call(rpc.listCordons, { namespace }, { signal });
      return cordons.map(readCordon);
    },
  });
}

function toOf(of: CordonName) {
  if ("agentId" in of) return { case: "agentId" as const, value: of.agentId };
  if ("session" in of)
    return { case: "session" as const, value: Uint8Array.from(Buffer.from(of.session, "hex")) };
  return { case: "version" as const, value: of.version };
}

function sent<Sent>(part: Sent | undefined): Sent {
  if (part !== undefined) return part;
  throw new DroverCallError("INTERNAL", "The server answered without what it has set.");
}

export function readCircuit(circuit: wire.Circuit): Circuit {
  const { queue, task, agentId, agentVersion, cooldowns, saw, setting, setBy: by, why } = circuit;
  const isSet = setting !== CircuitSetting.UNSPECIFIED;
  const time = readTime(circuit.setTime);
  return Object.freeze({
    queue,
    task,
    agentId,
    agentVersion,
    cooldowns,
    saw,
    state: states.get(circuit.state) ?? "UNSPECIFIED",
    sinceTime: readTime(circuit.sinceTime),
    tryTime: readTime(circuit.tryTime),
    override: isSet ? { setting: settings.get(setting) ?? "UNSPECIFIED", by, why, time } : null,
  });
}

export function readCordon({ of, cordonedBy: by, why, cordonedTime }: wire.Cordon): Cordon {
  return Object.freeze({
    agentId: of.case === "agentId" ? of.value : null,
    session: of.case === "session" ? Buffer.from(of.value).toString("hex") : null,
    version: of.case === "version" ? of.value : null,
    by,
    why,
    time: readTime(cordonedTime),
  });
}
