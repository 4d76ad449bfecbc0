/**
 * `drover doctor`: checks everything that can be checked from this machine, and suggests what to
 * do. It exits with 0 if no check fails (warnings are allowed), with 1 if one fails, with 3 if no
 * server answers.
 */
import { readdirSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { MIGRATIONS } from "@drover/server/store/postgres/migrations-folder.ts";
import type { Command } from "commander";
import { listInstances } from "../agent-instances.ts";
import { type Facts, type Finding, findingsOf, type Health } from "../checkup.ts";
import { type Connection, type ConnectionOptions, readPage } from "../client.ts";
import { settingsOfProgram, unknownVariables } from "../config-file.ts";
import { type Context, contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Style } from "../output.ts";
import { dimmed, tableLines } from "../table.ts";
import { counted } from "../words.ts";

export function addDoctor(program: Command, version: string, ended: Ended): void {
  program
    .command("doctor")
    .description(
      "check connection, versions, clocks, agents and partitions, and suggest what to do",
    )
    .option("--strict", "end with exit code 1 for warnings, too")
    .action(async ({ strict = false }: { readonly strict?: boolean }, command: Command) => {
      const context = contextOf(command);
      const { output } = context;
      const unknown = unknownVariables(process.env, settingsOfProgram(program));
      const findings = findingsOf(await factsOf(context, version, unknown));
      if (output.format === "jsonl") for (const one of findings) output.value({ ...one });
      else output.value({ findings: findings.map((one) => ({ ...one })) });
      if (output.format === "table")
        // Nothing of what a finding says is cut.
        for (const line of tableLines(HEADERS, findings.map(rowOf), dimmed(output)))
          output.line(line);
      const count = (result: Finding["result"]) =>
        findings.filter((one) => one.result === result).length;
      output.note(
        `${count("ok")} ok, ${counted(count("warn"), "warning")}, ${count("fail")} failed`,
      );
      const isBad = count("fail") > 0 || (strict && count("warn") > 0);
      ended(isBad ? exitCodes.failed : exitCodes.done);

      function rowOf({ check, result, saw, next }: Finding): readonly string[] {
        return [output.paint(styles[result], result), check, saw, next];
      }
    });
}

const HEADERS = ["", "CHECK", "SEEN", "NEXT"];
const styles: Readonly<Record<Finding["result"], Style>> = {
  ok: "green",
  warn: "yellow",
  fail: "red",
};

async function factsOf(
  { address, contextName, connect, connectionOptions, output: { again } }: Context,
  clientVersion: string,
  unknown: readonly string[],
): Promise<Facts> {
  const connection = connect();
  const { operator, namespace } = connection;
  // The first call opens the connection; the second one is timed.
  const overview = await operator.getOverview({ namespace });
  const startedMs = performance.now();
  const cluster = await operator.getClusterInfo({});
  const callMs = performance.now() - startedMs;
  const [page, { supervisors }, agents, { hooks }, undelivered] = await Promise.all([
    healthOf(connectionOptions),
    operator.listSupervisors({}),
    listInstances(connection, "", 1_000),
    operator.listHooks({ namespace }),
    undeliveredOf(connection),
  ]);
  return {
    address,
    contextName,
    namespace,
    again,
    clientVersion,
    migrations: ownMigrations(),
    overview,
    cluster,
    callMs,
    ...page,
    supervisors,
    agents,
    hooks,
    undelivered,
    unknownVariables: unknown,
  };
}

async function undeliveredOf({ operator, namespace }: Connection): Promise<Facts["undelivered"]> {
  const of = async (state: string) => {
    const { deliveries } = await operator.listDeliveries({
      namespace,
      states: [state],
      pageSize: 100,
    });
    return deliveries;
  };
  const [givenUp, pending] = await Promise.all([of("given-up"), of("pending")]);
  const failing = pending.filter(({ tries }) => tries > 0);
  const error = [...failing, ...givenUp][0]?.error ?? "";
  return { givenUp: givenUp.length, failing: failing.length, error };
}

const pageMsMax = 5_000;

async function healthOf(
  connection: ConnectionOptions,
): Promise<Pick<Facts, "health" | "clientAheadMs">> {
  const page = await readPage(connection, "/healthz", AbortSignal.timeout(pageMsMax));
  const date = Date.parse(page.headers.date ?? "");
  const body: unknown = JSON.parse(page.body);
  return { health: healthIn(body), clientAheadMs: Number.isNaN(date) ? null : Date.now() - date };
}

function healthIn(body: unknown): Health {
  if (typeof body !== "object" || body === null || !("status" in body))
    return { status: "an unexpected answer", reasons: [] };
  const reasons = "reasons" in body && Array.isArray(body.reasons) ? body.reasons.map(String) : [];
  return { status: String(body.status), reasons };
}

function ownMigrations(): readonly number[] {
  return readdirSync(MIGRATIONS).flatMap((name) => {
    const [, digits] = /^(\d{4})_.*\.sql$/.exec(name) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
}
