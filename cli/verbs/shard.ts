/** `drover shard list` and `drover shard move`: where the shards of a store on Citus are. */
import { shardOfSchema, sharedSchema } from "@drover/server/store/postgres/database-schema.ts";
import { type Command, InvalidArgumentError } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes, notThere } from "../failure.ts";

interface Place {
  readonly host: string;
  readonly port: number;
}

export function addShard(noun: Command, ended: Ended): void {
  addDatabaseOptions(noun.command("list"))
    .description("list the shards with the node that owns each; the URL is that of the coordinator")
    .action(async (options: DatabaseOptions, command: Command) => {
      const { output } = contextOf(command);
      const { listShards } = await import("@drover/server/store/postgres/distribute.ts");
      const url = await runningDatabaseUrl(options);
      for (const { schema, host, port } of await listShards(url, options.databaseSchema))
        output.line(`${numberOf(schema)}  ${schema}  ${host}:${port}`);
      ended(exitCodes.done);
    });
  addDatabaseOptions(noun.command("move"))
    .description("move a shard to another node; what writes to it waits meanwhile")
    .argument("<shard>", "its number, or 0 if there is one shard", parseNumber)
    .argument("<node>", "host:port of a node of the cluster", parsePlace)
    .action(async (shard: number, to: Place, options: DatabaseOptions, command: Command) => {
      const { output } = contextOf(command);
      const { listShards, moveSchema } = await import(
        "@drover/server/store/postgres/distribute.ts"
      );
      const url = await runningDatabaseUrl(options);
      const shards = await listShards(url, options.databaseSchema);
      const found = shards[shard];
      if (!found)
        throw notThere(
          `there is no shard ${shard}: the store in ${options.databaseSchema} has ${shards.length}`,
          "drover shard list",
        );
      await moveSchema(url, to, found.schema);
      output.line(`moved  ${found.schema}  ${to.host}:${to.port}`);
      ended(exitCodes.done);
    });
}

function numberOf(schema: string): number {
  return sharedSchema(schema) === schema ? 0 : (shardOfSchema(schema) ?? 0);
}

function parseNumber(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give the number of a shard, as 'drover shard list' shows it.");
}

function parsePlace(text: string): Place {
  const found = /^(.+):(\d{1,5})$/.exec(text);
  if (found?.[1]) return { host: found[1], port: Number(found[2]) };
  throw new InvalidArgumentError("Give host:port, as 'drover shard list' shows it.");
}
