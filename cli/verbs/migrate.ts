/** `drover migrate`: migrates the database to the schema of this version; forward only. */
import type { MigrationState } from "@drover/server/store/postgres/migrate.ts";
import { MIGRATIONS } from "@drover/server/store/postgres/migrations-folder.ts";
import { type Command, Option } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes } from "../failure.ts";

interface MigrateOptions extends DatabaseOptions {
  readonly dryRun?: boolean;
  readonly status?: boolean;
  readonly roles?: boolean;
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

function stateLine({ name, oldestProgram, appliedAt }: MigrationState): string {
  const oldest = `works with programs from ${String(oldestProgram).padStart(4, "0")} on`;
  const state = appliedAt === null ? "pending" : `applied ${appliedAt.toISOString()}`;
  return `${state}  ${name}  ${oldest}`;
}
