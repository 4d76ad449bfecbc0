/**
 * What every scenario holds an agent to, beside its own sentence: PROTOCOL.md, "What every agent is
 * held to". Read from the calls after the scenario has ended.
 */
import { toBinary } from "@bufbuild/protobuf";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { fromDuration } from "../../sdk/typescript/duration.ts";
import type { Program } from "./program.ts";
import { TOKEN, type Wire } from "./wire.ts";

/** An answer and the calls that were in flight by then may cross. */
const crossingMax = 2;
/** gRPC's INVALID_ARGUMENT: the agent still holds the task and may report otherwise. */
const invalid = 3;
/** What a result may be answered for good: OK, that, NOT_FOUND, FAILED_PRECONDITION. */
const definite: readonly number[] = [0, invalid, 5, 9];

export interface Seen {
  readonly wire: Wire;
  readonly programs: readonly Program[];
}

/** One line for each rule that was broken. */
export function brokenRules(seen: Seen): readonly string[] {
  return [
    ...brokenSessions(seen.wire),
    ...brokenPolls(seen.wire),
    ...brokenReports(seen.wire),
    ...brokenHeartbeats(seen.wire),
    ...printedTokens(seen),
    ...callsWithoutToken(seen.wire),
  ];
}

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

function callsWithoutToken({ poll, heartbeat, complete, logs }: Wire): readonly string[] {
  return [poll, heartbeat, complete, logs].flatMap(({ calls }) =>
    calls
      .filter(({ authorization }) => authorization !== `Bearer ${TOKEN}`)
      .map(({ no }) => `call ${no} has not the token of DROVER_TOKEN as its authorization`),
  );
}

function brokenSessions({ poll, heartbeat, complete }: Wire): readonly string[] {
  const sessions = new Map<string, Set<string>>();
  for (const { request } of [...poll.calls, ...heartbeat.calls, ...complete.calls]) {
    const id = request.agent?.id ?? "";
    sessions.set(id, (sessions.get(id) ?? new Set()).add(hex(request.agent?.session)));
  }
  const all = [...sessions.values()].flatMap((of) => [...of]);
  return [
    ...[...sessions]
      .filter(([, of]) => of.size > 1)
      .map(([id, of]) => `${id} has ${of.size} sessions: a process has one`),
    ...(new Set(all).size < all.length ? ["two processes have the same session"] : []),
  ];
}

function brokenPolls({ poll, complete }: Wire): readonly string[] {
  const numbers = [
    ...poll.calls.map(({ request }) => `${hex(request.agent?.session)} ${request.pollSeq}`),
    ...complete.calls
      .filter(({ request }) => request.next !== undefined)
      .map(({ request }) => `${hex(request.agent?.session)} ${request.next?.pollSeq}`),
  ];
  const twice = numbers.filter((number, at) => numbers.indexOf(number) < at);
  const hasty = poll.calls.filter(
    ({ request, timeoutMs }) =>
      timeoutMs !== null && request.wait !== undefined && timeoutMs < fromDuration(request.wait),
  );
  return [
    ...twice.map((number) => `the number of a poll was used twice: ${number}`),
    ...hasty.map(({ no }) => `call ${no}, a poll, ends before its wait`),
  ];
}

interface Report {
  readonly no: number;
  readonly outcome: string;
  /** The code of its own answer; null: the agent got none that is definite. */
  readonly code: number | null;
  readonly passedAt: number | null;
}

/** By task token, in the order of arrival. */
function reportsOf({ complete }: Wire): ReadonlyMap<string, readonly Report[]> {
  const reports = new Map<string, Report[]>();
  for (const call of complete.calls)
    for (const [at, { taskToken, outcome }] of call.request.results.entries()) {
      const passedAt = call.passedAt();
      const answer = call.response()?.answers[at];
      const code = answer === undefined ? null : (answer.status?.code ?? 0);
      const of = reports.get(taskToken) ?? [];
      reports.set(taskToken, of);
      of.push({
        no: call.no,
        outcome: outcome === undefined ? "" : hex(toBinary(OutcomeSchema, outcome)),
        code: passedAt === null || code === null || !definite.includes(code) ? null : code,
        passedAt,
      });
    }
  return reports;
}

function brokenReports(wire: Wire): readonly string[] {
  return [...reportsOf(wire).values()].flatMap((reports) =>
    reports.slice(1).flatMap((report, at) => {
      const before = reports[at];
      if (before === undefined || before.code === invalid) return [];
      if (before.code === null)
        return before.outcome === report.outcome
          ? []
          : [`call ${report.no} reports another outcome than call ${before.no}, which it repeats`];
      return [`call ${report.no} repeats the report of call ${before.no}, which was answered`];
    }),
  );
}

function brokenHeartbeats(wire: Wire): readonly string[] {
  const over = new Map<string, number>();
  for (const [token, reports] of reportsOf(wire)) {
    const last = reports.find(({ code }) => code !== null && code !== invalid);
    if (last?.passedAt) over.set(token, last.passedAt);
  }
  const late = new Map<string, number>();
  const repeated = new Map<string, number>();
  for (const { no, request, response, passedAt } of wire.heartbeat.calls)
    for (const { taskToken, progress, details } of request.reports) {
      if (no > (over.get(taskToken) ?? Number.POSITIVE_INFINITY))
        late.set(taskToken, (late.get(taskToken) ?? 0) + 1);
      if (progress === undefined && details === undefined) continue;
      const note = `${taskToken} ${JSON.stringify([progress?.kind, details?.body], plain)}`;
      const times = repeated.get(note) ?? 0;
      if (times > 0 || (response() !== null && passedAt() !== null)) repeated.set(note, times + 1);
    }
  return [
    ...[...late.values()]
      .filter((count) => count > crossingMax)
      .map((count) => `${count} heartbeats name a task whose report was answered`),
    ...[...repeated.values()]
      .filter((count) => count > crossingMax)
      .map(
        (count) => `${count} heartbeats bring the same progress or details, which were answered`,
      ),
  ];
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? hex(value) : value;
}

function printedTokens({ wire, programs }: Seen): readonly string[] {
  const tokens = [...wire.poll.calls, ...wire.complete.calls].flatMap(({ response }) =>
    (response()?.tasks ?? []).map(({ taskToken }) => taskToken),
  );
  return programs
    .filter(({ written }) => tokens.some((token) => written().includes(token)))
    .map(({ id }) => `${id} wrote a task token to its output`);
}
