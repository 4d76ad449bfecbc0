// `npm run fuzz -- --seed S --minutes M [--only KIND] [--per-round N] [--out FOLDER] [--json FILE]`
//
// Sends a real server what it must survive: random and malformed messages of every RPC, texts of
// every language, and odd HTTP. Prints each finding with its seed and how to send it again:
// `npm run fuzz -- --replay FILE`. The exit code is 1 if there is a finding.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Finding, KINDS, type Kind, type Sent } from "./findings.ts";
import { replay } from "./replay.ts";
import { type FuzzReport, fuzz } from "./rounds.ts";
import { rpcNames } from "./rpc.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "5" },
    only: { type: "string", multiple: true },
    "per-round": { type: "string", default: "600" },
    out: { type: "string", default: ".drover/fuzz" },
    json: { type: "string" },
    replay: { type: "string" },
    fault: { type: "string" },
  },
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function numberOf(name: "seed" | "minutes" | "per-round"): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= 0) return value;
  throw new Error(`--${name} is "${values[name]}": give a number`);
}

function kinds(): readonly Kind[] {
  const { only = [...KINDS] } = values;
  return only.map((name) => {
    const kind = KINDS.find((one) => one === name);
    if (kind) return kind;
    throw new Error(`--only is "${name}": use one of ${KINDS.join(", ")}`);
  });
}

/** One file for each finding, from which it is replayed. */
function save(findings: readonly Finding[], folder: string): void {
  if (findings.length > 0) mkdirSync(folder, { recursive: true });
  for (const [index, finding] of findings.entries()) {
    const file = join(folder, `finding-${numberOf("seed")}-${index + 1}.json`);
    writeFileSync(file, `${JSON.stringify(finding, null, 2)}\n`);
    print(findingText(finding));
    print(`  again: npm run fuzz -- --replay ${file}\n`);
  }
}

function findingText({ why, sent }: Finding): string {
  const last = sent.at(-1);
  return [`${why.slice(0, 2_000)}`, ...(last ? sentLines(last, sent.length) : [])].join("\n");
}

function sentLines({ seed, round, index, kind, what, text, base64 }: Sent, count: number) {
  const which = count > 1 ? `one of the last ${count} messages, the last of which is ` : "";
  return [
    `  ${which}seed ${seed}, round ${round}, ${kind} ${index}: ${what}`,
    `  ${text.slice(0, 2_000)}`,
    `  base64 ${base64.slice(0, 2_000)}`,
  ];
}

function reportText(report: FuzzReport): string {
  const counts = Object.entries(report.counts).map(([kind, count]) => `${kind} ${count}`);
  const answers = Object.entries(report.answers).map(([what, count]) => `${what}: ${count}`);
  const undone = rpcNames.filter((name) => !report.rpcsDone.includes(name));
  return [
    `seed ${report.seed}: ${report.rounds} rounds in ${report.minutes.toFixed(1)} minutes`,
    `messages: ${counts.join(", ")}`,
    `answers: ${answers.join(", ")}`,
    `RPCs that never answered OK: ${undone.join(", ") || "none"}`,
    `blocked at most ${report.blockedMsMax} ms; memory ${report.memoryMb.start} -> ${report.memoryMb.end} MiB`,
    `${report.findings.length} findings`,
  ].join("\n");
}

if (values.replay !== undefined) {
  process.exitCode = await replay(JSON.parse(readFileSync(values.replay, "utf8")), print);
} else {
  const report = await fuzz({
    seed: numberOf("seed"),
    minutes: numberOf("minutes"),
    kinds: kinds(),
    perRound: numberOf("per-round"),
    fault: values.fault,
    print,
  });
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  save(report.findings, values.out);
  print(reportText(report));
  process.exitCode = report.findings.length > 0 ? 1 : 0;
}
