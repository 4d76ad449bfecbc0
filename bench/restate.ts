// Restate as a peer: its server, which npm installs as a binary, with a folder of its own for its
// log, and the programs of peers/restate.ts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePorts } from "./free-ports.ts";
import { type Peer, startTalker } from "./peer.ts";

const PEERS = join(import.meta.dirname, "peers");
const PACKAGE = `@restatedev/restate-server-${process.platform}-${process.arch}`;
const FOLDER = join(PEERS, "node_modules", PACKAGE);
const STARTS_WITHIN_MS = 60_000;
const POLL_MS = 100;

/** Throws where it is not installed: it is optional, and there is not one for each platform. */
export function restatePeer(shape: Pick<Peer, "stepsARun" | "runsOpen">): Peer {
  if (!existsSync(FOLDER))
    throw new Error(`${PACKAGE} is not installed: npm ci --ignore-scripts in bench/peers`);
  return {
    product: "restate",
    version: versionOf(),
    how: "3 steps of one service",
    ...shape,
    alone: true,
    databases: [],
    async start(_, spawned) {
      const folder = mkdtempSync(join(tmpdir(), "drover-restate-"));
      const ports = await freePorts(["ingress", "admin", "node"]);
      const ingress = `127.0.0.1:${ports.ingress}`;
      const admin = `127.0.0.1:${ports.admin}`;
      const env = {
        ...process.env,
        RESTATE_BASE_DIR: folder,
        RESTATE_DISABLE_TELEMETRY: "true",
        RUST_LOG: "error",
        RESTATE_LISTEN_MODE: "tcp",
        RESTATE_BIND_IP: "127.0.0.1",
        RESTATE_BIND_PORT: ports.node,
        RESTATE_INGRESS__BIND_ADDRESS: ingress,
        RESTATE_ADMIN__BIND_ADDRESS: admin,
      };
      const server = spawn(join(FOLDER, "bin/restate-server"), ["--no-logo"], {
        cwd: folder,
        env,
        stdio: ["ignore", "ignore", "ignore"],
      });
      spawned.push(server);
      const ended = once(server, "exit").then(([code]) => {
        rmSync(folder, { recursive: true, force: true });
        throw new Error(`its server ended by itself (${code})`);
      });
      ended.catch(() => undefined);
      await Promise.race([ended, healthy(`http://${admin}/health`)]);
      const program = join(PEERS, "restate.ts");
      const talker = (role: string) =>
        startTalker(process.execPath, [program, role, ingress, admin], spawned);
      const work = await Promise.race([ended, talker("work")]);
      return { work, load: await talker("load"), servers: [server] };
    },
  };
}

async function healthy(url: string): Promise<void> {
  const until = performance.now() + STARTS_WITHIN_MS;
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (performance.now() > until)
      throw new Error(`its server does not answer at ${url} after ${STARTS_WITHIN_MS / 1_000} s`);
    await wait(POLL_MS);
  }
}

function versionOf(): string {
  const read: unknown = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8"));
  return typeof read === "object" && read !== null && "version" in read ? String(read.version) : "";
}
