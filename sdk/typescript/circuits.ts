/** Circuits and cordons: what rests because it fails, and which agents get nothing new. */
import type * as wire from "@drover/proto/drover/v1/circuit_pb.ts";
import { CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import type { PageSpec } from "./operations.ts";
import { namesOf, readTime } from "./runs.ts";

/** Of the task of a queue, or of one agent that performs it. */
export interface CircuitName {
  readonly queue: string;
  readonly task: string;
  /** Default: the circuit of the task itself, for all agents. */
  readonly agentId?: string;
}

/** Who says something, as you state it; nothing verifies it. */
export interface SaySpec extends CallControl {
  readonly by: string;
  readonly why?: string;
}

export interface Circuit {
  readonly queue: string;
  readonly task: string;
  /** Empty: of the task itself. */
  readonly agentId: string;
  /**
   * Of tasks that a pin keeps for agents of this version; what a person says holds for all
   * versions. Empty: of tasks for all agents.
   */
  readonly agentVersion: string;
  /** As the supervisor has moved it; what a person has said goes before it. */
  readonly state: string;
  /** Since when it has not been closed. */
  readonly sinceTime: Date | null;
  /** From then on one task tries. */
  readonly tryTime: Date | null;
  /** Rests of this outage so far. */
  readonly rests: number;
  /** What the supervisor saw, for people. */
  readonly saw: string;
  /** What a person has said; null: nobody has, and the supervisor decides. */
  readonly said: {
    readonly setting: string;
    readonly by: string;
    readonly why: string;
    readonly time: Date | null;
  } | null;
}

export interface CircuitPage {
  /** Those that are not closed, or of which a person has said something. */
  readonly circuits: readonly Circuit[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** An agent by its id, or all agents of a version. */
export type CordonName = { readonly agentId: string } | { readonly version: string };

export interface Cordon {
  /** null: it is of a version. */
  readonly agentId: string | null;
  /** null: it is of an agent. */
  readonly version: string | null;
  readonly by: string;
  readonly why: string;
  readonly time: Date | null;
}

export interface Circuits {
  list(options?: PageSpec): Promise<CircuitPage>;
  /** Nothing goes through until it is released, on every server within a second. */
  open(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /** Everything goes through until it is released, whatever fails. */
  close(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /** Takes back what was said: it is closed then, and judged by what comes. */
  release(circuit: CircuitName, spec: SaySpec): Promise<Circuit>;
  /** Gives them nothing new, on every server within a second; what they have they may finish. */
  cordon(of: CordonName, spec: SaySpec): Promise<Cordon>;
  /** `uncordoned` false: they were not cordoned. */
  uncordon(of: CordonName, options?: CallControl): Promise<{ readonly uncordoned: boolean }>;
  /** Those of agents by id, then those of versions. */
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
  return { case: "version" as const, value: of.version };
}

function sent<Sent>(part: Sent | undefined): Sent {
  if (part !== undefined) return part;
  throw new DroverCallError("INTERNAL", "The server answered without what it has set.");
}

export function readCircuit(circuit: wire.Circuit): Circuit {
  const { queue, task, agentId, agentVersion, rests, saw, setting, setBy: by, why } = circuit;
  const isSaid = setting !== CircuitSetting.UNSPECIFIED;
  const time = readTime(circuit.setTime);
  return Object.freeze({
    ...{ queue, task, agentId, agentVersion, rests, saw },
    state: states.get(circuit.state) ?? "UNSPECIFIED",
    sinceTime: readTime(circuit.sinceTime),
    tryTime: readTime(circuit.tryTime),
    said: isSaid ? { setting: settings.get(setting) ?? "UNSPECIFIED", by, why, time } : null,
  });
}

export function readCordon({ of, cordonedBy: by, why, cordonedTime }: wire.Cordon): Cordon {
  return Object.freeze({
    agentId: of.case === "agentId" ? of.value : null,
    version: of.case === "version" ? of.value : null,
    ...{ by, why, time: readTime(cordonedTime) },
  });
}
