// Functions that damage a history: they find, change, drop or add rows and records.
import type { PromiseName } from "./checker/violation.ts";
import type { History, HistoryRecord, TokenParts } from "./history.ts";
import type { FinalAttempt, FinalRun } from "./history-rows.ts";

export type Mutable<T> = T extends readonly (infer Item)[]
  ? Mutable<Item>[]
  : T extends Uint8Array
    ? T
    : T extends object
      ? { -readonly [Key in keyof T]: Mutable<T[Key]> }
      : T;

export type Broken = Mutable<History>;

export interface BrokenHistory {
  readonly promise: PromiseName;
  readonly what: string;
  readonly break: (history: Broken) => void;
  /** The text of the violation must match this. */
  readonly message: RegExp;
  /** Other promises that the same damage breaks too. */
  readonly also?: readonly PromiseName[];
}

export function runOf(history: Broken, runId: string): Mutable<FinalRun> {
  return must(
    history.final.runs.find((run) => run.runId === runId),
    `run ${runId}`,
  );
}

export function rowOf(
  history: Broken,
  runId: string,
  step: number,
  fence: number,
): Mutable<FinalAttempt> {
  const rows = runOf(history, runId).attempts;
  const row = rows.find((r) => r.step === step && r.fence === fence && r.kind !== "late");
  return must(row, `row of fence ${fence}`);
}

export type Recorded<K extends HistoryRecord["kind"]> = Extract<
  Mutable<HistoryRecord>,
  { kind: K }
>;
export type Asked = Recorded<"call">["request"];

export function calls(history: Broken): Recorded<"call">[] {
  return history.records.filter((record) => record.kind === "call");
}

export function callsWith(history: Broken, rpc: Asked["rpc"]): Recorded<"call">[] {
  return calls(history).filter(({ request }) => request.rpc === rpc);
}

export type AnswerPayload = Recorded<"answer">["answer"];

export function answersOf<K extends AnswerPayload["kind"]>(
  history: Broken,
  kind: K,
): Extract<AnswerPayload, { kind: K }>[] {
  return history.records.flatMap((record) => {
    if (record.kind !== "answer") return [];
    const is = (answer: AnswerPayload): answer is Extract<AnswerPayload, { kind: K }> =>
      answer.kind === kind;
    return is(record.answer) ? [record.answer] : [];
  });
}

export function tasksSeen(history: Broken) {
  return answersOf(history, "polled").flatMap(({ tasks }) => tasks);
}

export function dropCalls(history: Broken, which: (request: Asked) => boolean): void {
  const gone = new Set(calls(history).flatMap(({ call, request }) => (which(request) ? call : [])));
  history.records = history.records.filter(
    (record) => (record.kind !== "call" && record.kind !== "answer") || !gone.has(record.call),
  );
}

export function dropCompensate(history: Broken, step: number): void {
  const isIt = (token: TokenParts): boolean => token.task === "compensate" && token.step === step;
  dropCalls(history, (request) =>
    request.rpc === "Complete" ? request.results.some(({ token }) => isIt(token)) : false,
  );
  for (const answer of answersOf(history, "polled"))
    answer.tasks = answer.tasks.filter(({ token }) => !isIt(token));
  history.records = history.records.filter(
    (record) => record.kind !== "effect" || record.step !== step,
  );
}

/** A first poll for r5 that was sent 3.5 s earlier than its task came; returns when it was sent. */
export function waitLonger(history: Broken): number {
  const poll = callsWith(history, "PollTask").find(({ process }) => process === "agent-g");
  const call = must(poll, "poll of agent-g");
  call.at -= 3_500;
  return call.at;
}

export function addFault(
  history: Broken,
  { at, fault }: Pick<Recorded<"fault">, "at" | "fault">,
): void {
  const target = "node-1";
  const process = "driver";
  history.records.push({ kind: "fault", at, process, target, server: true, fault });
}

export function runFault(
  history: Broken,
  of: { at: number; target: string; did: "always-fails" | "cannot-be-made" },
): void {
  const { at, target, did } = of;
  const own = { process: "driver", server: false } as const;
  history.records.push({ kind: "fault", at, target, ...own, fault: { kind: "run", did } });
}

export function own(
  history: Broken,
  { node, epoch, at }: { node: string; epoch: number; at: number },
) {
  const process = node;
  history.records.push({ kind: "owner", at, process, node, partition: 7, epoch, did: "took" });
}

/** The report of fence 1 of a step once more, for another fence, as if it had been accepted too. */
export function reportAgain(
  history: Broken,
  { runId, step, fence }: { runId: string; step: number; fence: number },
): void {
  const call = calls(history).length + 1_000;
  for (const record of [...history.records]) {
    if (record.kind !== "call" || record.request.rpc !== "Complete") continue;
    const { token } = must(record.request.results[0], "result");
    if (token.runId !== runId || token.step !== step) continue;
    const again = structuredClone(record);
    again.call = call;
    if (again.request.rpc === "Complete")
      must(again.request.results[0], "result").token.fence = fence;
    const { at, process } = again;
    const answers = [{ kind: "accepted" as const, repeated: false }];
    const answer = { kind: "completed" as const, answers, tasks: [] };
    history.records.push(again, { kind: "answer", at, process, call, answer, canaries: [] });
  }
}

/** Every call of that kind about that run was refused. */
export function refuse(history: Broken, rpc: Asked["rpc"], runId: string, reason: string): void {
  const about = (request: Asked): boolean =>
    request.rpc === "Schedule"
      ? request.mark === `order ${runId}`
      : "runId" in request && request.runId === runId;
  const refused = new Set(
    callsWith(history, rpc).flatMap(({ call, request }) => (about(request) ? call : [])),
  );
  for (const record of history.records)
    if (record.kind === "answer" && refused.has(record.call))
      record.answer = { kind: "refused", code: "FAILED_PRECONDITION", reason };
}

export function blocked(step: Mutable<FinalRun>["steps"][number]): void {
  const never = { fence: 0, attempt: 0, lost: 0, firstReadyAt: null, result: null } as const;
  const forward = { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 } as const;
  Object.assign(step, { ...never, forward, undo: { kind: "NONE" } });
}

export function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the story has no ${what}`);
  return value;
}
