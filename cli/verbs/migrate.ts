/** `drover migrate`: migrates the database to the schema of this version; forward only. */

import { SHARDS_MAX } from "@drover/server/store/partition.ts";
import type { MigrationState } from "@drover/server/store/postgres/migrate.ts";
import { MIGRATIONS } from "@drover/server/store/postgres/migrations-folder.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes } from "../failure.ts";

interface MigrateOptions extends DatabaseOptions {
  readonly dryRun?: boolean;
  readonly status?: boolean;
  readonly roles?: boolean;
  readonly distribute?: boolean;
  readonly shards?: number;
}

export function addMigrate(program: Command, ended: Ended): void {
  addDatabaseOptions(program.command("migrate"))
    .description("migrate the database to the schema of this version")
    .option("--dry-run", "list what would be applied, and change nothing")
    .addOption(
      new Option("--status", "list all migrations, and change nothing").conflicts([
        "dryRun",
        "roles",
      ]),
    )
    .addOption(
      new Option(
        "--distribute",
        "divide the tables among the workers of a Citus cluster; the URL is that of its coordinator",
      ).conflicts(["status", "dryRun", "roles"]),
    )
    .addOption(
      new Option(
        "--shards <number>",
        "with --distribute: how many shards a new store gets, 1 if left out",
      ).argParser(parseShards),
    )
    .option("--roles", "also make the roles drover_server, drover_reader and drover_backup")
    .action(async (options: MigrateOptions, command: Command) => {
      const { output } = contextOf(command);
      const url = await runningDatabaseUrl(options);
      const { migrate, migrationStates, pendingMigrations } = await import(
        "@drover/server/store/postgres/migrate.ts"
      );
      const how = { folder: MIGRATIONS, schema: options.databaseSchema };
      if (options.status) {
        for (const state of await migrationStates(url, how)) output.line(stateLine(state));
        return ended(exitCodes.done);
      }
      if (options.distribute) {
        const { distributeStore } = await import("@drover/server/store/postgres/distribute.ts");
        const { databaseSchema: schema, shards } = options;
        const owners = await distributeStore(url, { folder: MIGRATIONS, schema, shards });
        for (const owner of owners)
          output.line(`distributed  ${owner.schema}  ${owner.host}:${owner.port}`);
      }
      const names = options.dryRun
        ? await pendingMigrations(url, how)
        : (await migrate(url, how)).applied;
      for (const name of names) output.line(`${options.dryRun ? "pending" : "applied"}  ${name}`);
      if (options.roles && !options.dryRun) {
        const { createRoles } = await import("@drover/server/store/postgres/roles.ts");
        await createRoles(url, options.databaseSchema);
        output.line("granted  drover_server, drover_reader, drover_backup");
      }
      if (names.length === 0) output.note("the database is up to date");
      ended(exitCodes.done);
    });
}

function parseShards(text: string): number {
  const shards = Number(text);
  if (Number.isInteger(shards) && shards >= 1 && SHARDS_MAX % shards === 0) return shards;
  throw new InvalidArgumentError(`Give a power of 2, from 1 to ${SHARDS_MAX}.`);
}

function stateLine({ name, oldestProgram, appliedAt }: MigrationState): string {
  const oldest = `works with programs from ${String(oldestProgram).padStart(4, "0")} on`;
  const state = appliedAt === null ? "pending" : `applied ${appliedAt.toISOString()}`;
  return `${state}  ${name}  ${oldest}`;
}
