/** `drover db url`: the address of the database, for psql and other tools. */
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { addConnectionOptions, type ConnectionOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes } from "../failure.ts";

export function addDbVerbs(db: Command, ended: Ended): void {
  addConnectionOptions(db.command("url"))
    .description("print the connection string, as for psql $(drover db url); it holds the password")
    .action(async (options: ConnectionOptions, command: Command) => {
      const { output } = contextOf(command);
      output.line(await runningDatabaseUrl(options));
      ended(exitCodes.done);
    });
}
