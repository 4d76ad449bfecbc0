/** `drover migrate`: migrates the database to the schema of this version; forward only. */
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes } from "../failure.ts";

const folder = fileURLToPath(new URL("../../migrations", import.meta.url));

type MigrateOptions = DatabaseOptions & { readonly dryRun?: boolean; readonly roles?: boolean };

export function addMigrate(program: Command, ended: Ended): void {
  addDatabaseOptions(program.command("migrate"))
    .description("migrate the database to the schema of this version")
    .option("--dry-run", "list what would be applied, and change nothing")
    .option("--roles", "also make the roles drover_server, drover_reader and drover_backup")
    .action(async (options: MigrateOptions, command: Command) => {
      const { output } = contextOf(command);
      const url = await runningDatabaseUrl(options);
      const { migrate, pendingMigrations } = await import(
        "@drover/server/store/postgres/migrate.ts"
      );
      const how = { folder, schema: options.databaseSchema };
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
