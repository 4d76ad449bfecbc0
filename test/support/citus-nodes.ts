// The nodes of the cluster that `npm run citus` has started on this machine, for tests that stop
// them: by the data folders that the nodes themselves name.
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type CitusNode, citusNodes } from "../../server/store/postgres/distribute.ts";
import { withConnection } from "../../server/store/postgres/one-connection.ts";
import { urlOn } from "../../server/store/postgres/shard-address.ts";

export interface ClusterNode extends CitusNode {
  /** Such as "worker-1". */
  readonly name: string;
  readonly folder: string;
  /** Of the same database as that of the coordinator. */
  readonly url: string;
  query(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** As a crash; it must be started again. */
  kill(): void;
}

export interface NodesHere {
  /** The folder with those of the nodes. */
  readonly data: string;
  /** The coordinator first. */
  readonly nodes: readonly ClusterNode[];
}

/** Throws if a node is on another machine. */
export async function nodesHere(coordinatorUrl: string): Promise<NodesHere> {
  const nodes: ClusterNode[] = [];
  for (const node of await citusNodes(coordinatorUrl)) {
    const url = urlOn(coordinatorUrl, node);
    const query = async (text: string) => {
      const { rows } = await withConnection({ connectionString: url }, (client) =>
        client.query<Record<string, unknown>>(text),
      );
      return rows;
    };
    const [shown] = await query("show data_directory");
    const folder = String(shown?.data_directory);
    const pidFile = join(folder, "postmaster.pid");
    if (!existsSync(pidFile)) throw new Error(`${folder} is not on this machine`);
    const kill = () =>
      process.kill(Number(readFileSync(pidFile, "utf8").split("\n")[0]), "SIGQUIT");
    nodes.push({ ...node, name: basename(folder), folder, url, query, kill });
  }
  return { data: dirname(nodes[0]?.folder ?? ""), nodes };
}

/** Starts the nodes in this folder that do not run. */
export function startNodes(data: string): Promise<unknown> {
  return cluster("--data", data);
}

export function stopNodes(data: string): Promise<unknown> {
  return cluster("stop", "--data", data);
}

function cluster(...args: readonly string[]): Promise<unknown> {
  const program = join(import.meta.dirname, "citus-cluster.ts");
  return promisify(execFile)(process.execPath, [program, ...args]);
}
