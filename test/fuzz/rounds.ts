// A fuzzing run: rounds until the time is over. A round plants a world, sends what its seed makes,
// several calls at a time, and then looks for faults: in logs, in how long the server was blocked,
// in its store, and in whether it still does its work.
import { type Chance, createChance } from "../../simulator/chance.ts";
import { agentScript } from "./agent-script.ts";
import { type Caller, createCaller } from "./calls.ts";
import { readDirectly, TEXT_KINDS } from "./direct.ts";
import { type Answered, badAnswer, type Finding, type Kind, type Sent } from "./findings.ts";
import { goodRun } from "./good-run.ts";
import { httpDraft, leaks } from "./http.ts";
import { type Planted, plant } from "./plant.ts";
import {
  binaryDraft,
  type Draft,
  isWait,
  methodOf,
  rpcDraft,
  smallerBytes,
  streamDraft,
  textOf,
} from "./rpc.ts";
import { startTarget, type Target } from "./target.ts";
import { textDraft, textsOf } from "./text-calls.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly kinds: readonly Kind[];
  /** Messages of each kind in a round. */
  readonly perRound: number;
  /** A statement that breaks the database, for the test of the fuzzer itself. */
  readonly fault?: string | undefined;
  readonly print: (text: string) => void;
}

export interface FuzzReport {
  readonly seed: number;
  readonly rounds: number;
  readonly minutes: number;
  /** Messages by kind, texts that were read directly among them. */
  readonly counts: Readonly<Record<string, number>>;
  /** Answers by what they say: OK, refused, other. */
  readonly answers: Readonly<Record<string, number>>;
  readonly rpcs: number;
  /** RPCs that answered OK at least once. */
  readonly rpcsDone: readonly string[];
  readonly blockedMsMax: number;
  readonly memoryMb: { readonly start: number; readonly end: number };
  readonly findings: readonly Finding[];
}

const PARALLEL = 6;
/** Of a round without anything else, what the server may be blocked for: see direct-worker.ts. */
const BLOCKED_MS_MAX = 2_500;
/**
 * What caches may take that a first round has not yet filled. The largest is that of plans
 * (store/plans.ts), which half an hour of large definitions fills: with 32 MiB of their JSON, of
 * which a plan takes some ten times as much.
 */
const MEMORY_GROWTH_MB_MAX = 400;
const WAIT_MS = 400;
const CALL_MS = 30_000;
const FINDINGS_MAX = 25;
const LAST_SENT = 40;
const MB = 1024 * 1024;

interface Run {
  readonly options: FuzzOptions;
  readonly target: Target;
  readonly caller: Caller;
  readonly counts: Map<string, number>;
  readonly answers: Map<string, number>;
  readonly called: Set<string>;
  readonly done: Set<string>;
  readonly findings: Finding[];
  /** The latest that were sent, the last one at the end. */
  readonly last: Sent[];
  /** The world of this round. */
  ids: ReadonlyMap<string, string>;
  blockedMsMax: number;
}

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const target = await startTarget();
  const caller = createCaller(target.address);
  const run: Run = {
    options,
    target,
    caller,
    counts: new Map(),
    answers: new Map(),
    called: new Set(),
    done: new Set(),
    findings: [],
    last: [],
    ids: new Map(),
    blockedMsMax: 0,
  };
  const began = performance.now();
  const minutes = () => (performance.now() - began) / 60_000;
  let [rounds, startMb, endMb] = [0, 0, 0];
  try {
    await goodRun(target.address);
    do {
      await oneRound(run, rounds++, minutes);
      endMb = (await target.memoryBytes()) / MB;
      if (rounds === 1) startMb = endMb;
      options.print(progressText(run, rounds, minutes(), endMb));
    } while (minutes() < options.minutes && run.findings.length < FINDINGS_MAX);
    if (endMb - startMb > MEMORY_GROWTH_MB_MAX)
      report(run, `memory grew from ${Math.round(startMb)} to ${Math.round(endMb)} MiB`, []);
  } finally {
    caller.close();
    await target.stop();
  }
  return {
    seed: options.seed,
    rounds,
    minutes: minutes(),
    counts: Object.fromEntries(run.counts),
    answers: Object.fromEntries(run.answers),
    rpcs: run.called.size,
    rpcsDone: [...run.done].sort(),
    blockedMsMax: Math.round(run.blockedMsMax),
    memoryMb: { start: Math.round(startMb), end: Math.round(endMb) },
    findings: run.findings,
  };
}

async function oneRound(run: Run, round: number, minutes: () => number): Promise<void> {
  const { options, target } = run;
  const isOver = () => minutes() >= options.minutes && round > 0;
  const planted = await plant(target.address, round, createChance(options.seed));
  run.ids = planted.names;
  if (round === 0 && options.fault !== undefined) await target.sql(options.fault);
  lookForFaults(run);
  for (const kind of options.kinds) {
    if (isOver()) break;
    await sendAll(run, kind, round, planted);
    lookForFaults(run);
  }
  for (const kind of TEXT_KINDS)
    if (options.kinds.includes(kind) && !isOver()) await direct(run, kind, round);
  await checkWork(run);
}

/** After a round: the store is consistent, and a run that has nothing to do with it completes. */
async function checkWork(run: Run): Promise<void> {
  for (const runId of await run.target.inconsistentRuns())
    report(run, `the derived rows of run ${runId} differ from its pages`, run.last);
  try {
    await goodRun(run.target.address);
  } catch (error) {
    report(run, `a good run does not complete: ${String(error)}`, run.last);
  }
  lookForFaults(run);
}

function chanceFor(seed: number, round: number, index: number): Chance {
  return createChance(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(round + 1, 0x85ebca6b) ^ index);
}

type Make = (index: number, chance: Chance, planted: Planted) => Draft;

function makerOf(kind: Kind, seed: number, count: number): Make {
  switch (kind) {
    case "rpc":
      return rpcDraft;
    case "binary":
      return binaryDraft;
    case "streams":
      return streamDraft;
    case "http":
      return httpDraft;
    default: {
      const texts = textsOf(kind, seed, count);
      return (index, chance, planted) => textDraft(texts, index, chance, planted);
    }
  }
}

async function sendAll(run: Run, kind: Kind, round: number, planted: Planted): Promise<void> {
  const { seed, perRound } = run.options;
  const make = makerOf(kind, seed + round, perRound);
  let next = 0;
  const salt = kind.length * 7_919 + kind.charCodeAt(0);
  const worker = async (): Promise<void> => {
    while (next < perRound && run.findings.length < FINDINGS_MAX) {
      const index = next++;
      const chance = chanceFor(seed, round, index + salt);
      const mark = { kind, seed, round, index };
      const send = (draft: Draft) => sendOne(run, { ...draft, ...mark });
      if (kind === "rpc" && index % 60 === 59) await agentScript(chance, planted, send);
      else await send(make(index, chance, planted));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

/** Sends and judges; returns the body of an answer by HTTP. */
async function sendOne(run: Run, sent: Sent): Promise<string> {
  run.last.push(sent);
  if (run.last.length > LAST_SENT) run.last.shift();
  run.counts.set(sent.kind, (run.counts.get(sent.kind) ?? 0) + 1);
  const { body, ...answer } = await send(run.caller, sent);
  const path = sent.what.replace("POST ", "");
  if (methodOf(path)) run.called.add(path);
  if (methodOf(path) && (answer.code === 0 || answer.message.startsWith("200"))) run.done.add(path);
  const key = answer.code === -1 ? (answer.message.split(" ")[0] ?? "") : `grpc ${answer.code}`;
  run.answers.set(key, (run.answers.get(key) ?? 0) + 1);
  const why = badAnswer(answer, isWait(path)) ?? (leaks(body) ? "answered with a file" : null);
  if (why !== null) report(run, why, [await shrunk(run, sent, why)]);
  return body;
}

/** Sends what was sent once before, too: for a replay. */
export async function send(
  caller: Caller,
  { how, what, base64, headers = {}, index }: Sent,
): Promise<Answered & { readonly body: string }> {
  const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
  const method = methodOf(what);
  if (method && how === "grpc")
    return { ...(await caller.unary(method, bytes, isWait(what) ? WAIT_MS : CALL_MS)), body: "" };
  if (method && how === "stream")
    return { ...(await caller.stream(method, bytes, (index * 37) % WAIT_MS)), body: "" };
  if (how === "tcp") return caller.tcp(bytes);
  const [verb = "GET", path = "/"] = what.split(/ (.*)/s);
  const withBody = !/^(?:GET|HEAD)$/.test(verb);
  const deadline = isWait(path) ? { "connect-timeout-ms": `${WAIT_MS}` } : {};
  return caller.http(path, {
    method: verb,
    headers: { ...deadline, ...headers },
    ...(withBody && { body: bytes }),
  });
}

/** The smallest message that is answered alike; tries of it are few, as each is a call. */
async function shrunk(run: Run, sent: Sent, why: string): Promise<Sent> {
  const method = methodOf(sent.what);
  if (!method || sent.how !== "grpc") return sent;
  let smallest = sent;
  let tries = 60;
  for (let smaller = true; smaller && tries > 0; ) {
    smaller = false;
    for (const bytes of smallerBytes(method, Buffer.from(smallest.base64, "base64"))) {
      if (tries-- <= 0) break;
      const base64 = Buffer.from(bytes).toString("base64");
      const answer = await send(run.caller, { ...smallest, base64 });
      if (badAnswer(answer, true)?.slice(0, 40) !== why.slice(0, 40)) continue;
      smallest = { ...smallest, base64, text: textOf(method, bytes) };
      smaller = true;
      break;
    }
  }
  return smallest;
}

function lookForFaults(run: Run): void {
  for (const fault of new Set(run.target.faults())) report(run, fault, run.last);
  const blockedMs = run.target.blockedMs();
  run.blockedMsMax = Math.max(run.blockedMsMax, blockedMs);
  if (blockedMs > BLOCKED_MS_MAX)
    report(run, `the server's thread was blocked for ${Math.round(blockedMs)} ms`, run.last);
}

async function direct(run: Run, kind: (typeof TEXT_KINDS)[number], round: number): Promise<void> {
  const { seed, perRound } = run.options;
  const count = Math.ceil(perRound / 2);
  const result = await readDirectly({ kind, seed: seed * 1_000 + round, count });
  run.counts.set(`${kind} direct`, (run.counts.get(`${kind} direct`) ?? 0) + result.done);
  if (!result.failed) return;
  const { text, why } = result.failed;
  const base64 = Buffer.from(text).toString("base64");
  report(run, why, [{ kind, seed, round, index: 0, what: kind, how: "direct", base64, text }]);
}

function report(run: Run, why: string, sent: readonly Sent[]): void {
  const alike = (one: string) => one.replaceAll(/[0-9a-f-]{8,}|\d+/g, "#").slice(0, 160);
  const methods = sent.length === 1 ? sent[0]?.what : "";
  const known = run.findings.some(
    (finding) =>
      alike(finding.why) === alike(why) &&
      (finding.sent.length === 1 ? finding.sent[0]?.what : "") === methods,
  );
  if (known) return;
  const finding = { why, sent: [...sent], ids: Object.fromEntries(run.ids) };
  run.findings.push(finding);
  run.options.print(`FINDING ${run.findings.length}: ${why.slice(0, 1_000)}`);
}

function progressText(run: Run, rounds: number, minutes: number, endMb: number): string {
  const total = [...run.counts.values()].reduce((sum, count) => sum + count, 0);
  return (
    `round ${rounds}, ${minutes.toFixed(1)} min: ${total} messages, ${run.done.size} of ` +
    `${run.called.size} RPCs answered OK, blocked at most ${Math.round(run.blockedMsMax)} ms, ` +
    `${Math.round(endMb)} MiB, ${run.findings.length} findings`
  );
}
