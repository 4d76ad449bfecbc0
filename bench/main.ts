// `npm run bench -- PROFILE [--short] [--single] [--stages] [--json FILE]`: measures one thing on
// this machine and prints it as a table; `all` measures everything. What each profile measures, and
// how it can mislead, is in bench/README.md.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runAll, summaryOf } from "./all.ts";
import { machineFacts } from "./machine.ts";
import type { Measured, Profile } from "./profile.ts";
import { attacks } from "./profiles/attacks.ts";
import { chain } from "./profiles/chain.ts";
import { dashboard } from "./profiles/dashboard.ts";
import { fair } from "./profiles/fair.ts";
import { fan } from "./profiles/fan.ts";
import { heartbeats } from "./profiles/heartbeats.ts";
import { history } from "./profiles/history.ts";
import { idle } from "./profiles/idle.ts";
import { inflight } from "./profiles/inflight.ts";
import { latency } from "./profiles/latency.ts";
import { list } from "./profiles/list.ts";
import { peers } from "./profiles/peers.ts";
import { recovery } from "./profiles/recovery.ts";
import { servers } from "./profiles/servers.ts";
import { shards } from "./profiles/shards.ts";
import { snapshot } from "./profiles/snapshot.ts";
import { stagesOf } from "./stages.ts";
import { profileServers } from "./world.ts";

const PROFILES: Readonly<Record<string, Profile>> = {
  attacks,
  chain,
  dashboard,
  fair,
  fan,
  heartbeats,
  history,
  idle,
  inflight,
  latency,
  list,
  peers,
  recovery,
  servers,
  shards,
  snapshot,
};

function table({ columns, rows }: Measured): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => cell(row[name])))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) => line.map((text, at) => text.padStart(widths[at] ?? 0)).join("  "))
    .join("\n");
}

function cell(value: number | string | null | undefined): string {
  if (typeof value === "number" && !Number.isInteger(value))
    return value.toFixed(value < 10 ? 2 : 1);
  return value == null ? "" : String(value);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: "boolean", default: false },
      single: { type: "boolean", default: false },
      stages: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  const [name = ""] = positionals;
  if (name === "all") {
    const folder = values.json ?? mkdtempSync(join(tmpdir(), "drover-reports-"));
    const missing = runAll(folder, values.short);
    process.stdout.write(`${summaryOf(folder)}\n`);
    process.stderr.write(`the reports are in ${folder}\n`);
    if (missing.length > 0) process.stderr.write(`without a report: ${missing.join(", ")}\n`);
    return missing.length > 0 ? 1 : 0;
  }
  const profile = PROFILES[name];
  if (!profile) {
    const known = [...Object.keys(PROFILES), "all"].join(", ");
    process.stderr.write(`there is no profile "${name}": give one of ${known}\n`);
    return 2;
  }
  const folder = values.stages ? mkdtempSync(join(tmpdir(), "drover-stages-")) : null;
  if (folder !== null) profileServers(folder);
  const measured = await profile({
    short: values.short,
    single: values.single,
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  process.stdout.write(`${table(measured)}\n`);
  const stages = folder === null ? [] : stagesOf(folder);
  for (const { part, share } of stages)
    process.stdout.write(`${(share * 100).toFixed(1).padStart(5)} %  ${part}\n`);
  if (folder !== null) process.stderr.write(`for a flame graph: ${folder}\n`);
  if (values.json !== undefined) {
    const { figures = {}, ...table } = measured;
    const { short, single } = values;
    const facts = { profile: name, short, single, machine: machineFacts(), stages };
    const report = { ...facts, ...figures, ...table };
    writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return 0;
}

process.exitCode = await main();
