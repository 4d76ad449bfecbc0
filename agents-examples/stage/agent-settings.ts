/** Where an agent of a story works: its Drover server, and the remote services that it calls. */
import { parseArgs } from "node:util";
import { createRemote, type Remote } from "./remote.ts";

export interface AgentSettings {
  /** host:port of the Drover server. */
  readonly address: string;
  readonly remote: Remote;
  /** Of the story. */
  readonly seed: number;
}

/** From `--address HOST:PORT --services URL --seed N`. */
export function readAgentSettings(): AgentSettings {
  const { values } = parseArgs({
    options: {
      address: { type: "string" },
      services: { type: "string" },
      seed: { type: "string", default: "1" },
    },
  });
  const { address, services } = values;
  if (address === undefined) throw new Error("--address is missing; give host:port of Drover");
  if (services === undefined) throw new Error("--services is missing; give the URL to call");
  return { address, remote: createRemote({ url: services }), seed: Number(values.seed) };
}
