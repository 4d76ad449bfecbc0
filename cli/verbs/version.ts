/** `drover version`: the version of this command, and that of the server if it answers. */
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { failureOf } from "../failure-of.ts";
import { printPairs } from "../table.ts";
import { clean } from "../words.ts";

const callMsMax = 2_000;

export function addVersion(program: Command, ended: Ended, client: string): void {
  program
    .command("version")
    .description("print the version of this command, and of the server if it answers")
    .action(async (_options: unknown, command: Command) => {
      const { output, address, connect } = contextOf(command);
      const { operator } = connect();
      const { server, why } = await operator.getClusterInfo({}, { timeoutMs: callMsMax }).then(
        ({ serverVersion }) => ({ server: serverVersion, why: "" }),
        (error: unknown) => ({ server: null, why: failureOf(error, address).message }),
      );
      output.value({ client, server });
      if (output.format === "table")
        printPairs(output, [
          ["client", client],
          ["server", server === null ? "" : `${clean(server)} at ${clean(address)}`],
        ]);
      if (server === null) output.note(`no version of the server: ${clean(why)}`);
      ended(exitCodes.done);
    });
}
