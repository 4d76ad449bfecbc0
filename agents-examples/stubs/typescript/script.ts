/**
 * What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.
 * Nothing of an agent is here: a handler of your own takes the task and returns its outcome.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Payload, PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  FailureClass,
  type Outcome,
  OutcomeSchema,
  type Progress,
  ProgressSchema,
  type Task,
} from "@drover/proto/drover/v1/task_pb.ts";

/** What a heartbeat reports. */
export interface Notes {
  readonly progress?: Progress;
  readonly details?: Payload;
}

/** The task that the agent holds, as its handler sees it. */
export interface Held {
  stopped(): string | null;
  note(notes: Notes): void;
}
type Fields = Readonly<Record<string, unknown>>;
const kinds = ["", "perform", "verify", "compensate"];

export function emit(event: string, more: Fields = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? { ...value } : {};
const read = (payload: Payload | undefined): unknown =>
  payload?.body.case === "json" ? JSON.parse(payload.body.value) : null;
const json = (value: unknown): Payload =>
  create(PayloadSchema, { body: { case: "json", value: JSON.stringify(value) } });

export function outcomeOf(kind: MessageInitShape<typeof OutcomeSchema>["kind"] & {}): Outcome {
  return create(OutcomeSchema, { kind });
}

/** For an outcome that was refused: the effect remains, and only its output cannot be reported. */
export function instead({ kind }: Outcome, message: string): Outcome {
  const outputProblem = message.replace(/^results\S+ /, "");
  if (kind.case === "success") return outcomeOf({ case: "success", value: { outputProblem } });
  return unknown("report-refused", message);
}

function success(value: unknown): Outcome {
  return outcomeOf({ case: "success", value: { output: json(value) } });
}

function failed(given: Fields): Outcome {
  const { permanent = false, retry_after_ms: waitMs, no_effect: noEffect } = given;
  const value = {
    code: String(given.code),
    message: String(given.message ?? ""),
    failureClass: permanent ? FailureClass.PERMANENT : FailureClass.TRANSIENT,
    noEffect: noEffect === true,
    ...(waitMs !== undefined && { retryAfter: durationFromMs(Number(waitMs)) }),
  };
  return outcomeOf({ case: "failed", value });
}

function unknown(code: unknown, message: unknown = ""): Outcome {
  return outcomeOf({ case: "unknown", value: { code: String(code), message: String(message) } });
}

function outcome(name: string, value: unknown, task: Task): Outcome {
  const given = fieldsOf(value);
  if (name === "success" || name === "happened") return success(value);
  if (name === "echo" && value === "input") return success(read(task.input));
  if (name === "echo") return success(read(value === "details" ? task.lastDetails : task.output));
  if (name === "large") return success("x".repeat(Number(value)));
  if (name === "fail") return failed(given);
  if (name === "unknown") return unknown(given.code, given.message);
  if (name === "cannot_tell") return unknown("cannot-tell", given.message);
  if (name === "did_not_happen") return failed({ code: "did-not-happen", no_effect: true });
  if (name === "again")
    return outcomeOf({ case: "again", value: { after: durationFromMs(Number(given.after_ms)) } });
  if (name === "deferred") return outcomeOf({ case: "deferred", value: {} });
  if (name === "cancelled")
    return outcomeOf({ case: "cancelled", value: { noEffect: given.no_effect === true } });
  return failed({ code: "bad-script", permanent: true });
}

export async function perform(task: Task, held: Held): Promise<Outcome> {
  const { runId: run, stepId: step, attempt, fence, item = null } = task;
  const about = { run, step, kind: kinds[task.kind], attempt, fence };
  const { idempotencyKey: key, effectKey: effect_key, callbackToken: callback_token } = task;
  emit("started", { ...about, key, effect_key, callback_token, item });
  const [act, result] = await ended(task, held, about);
  emit("ended", { ...about, act });
  return result;
}

async function ended(task: Task, held: Held, about: Fields): Promise<[string, Outcome]> {
  const script = read(task.input);
  if (Array.isArray(script) || typeof script !== "object") return ["", outcome("", null, task)];
  const tries = fieldsOf(script)[String(about.kind)];
  const number = about.kind === "perform" ? task.fence : task.attempt;
  const acts = Array.isArray(tries) ? tries[Math.min(number, tries.length) - 1] : [];
  for (const act of acts ?? []) {
    const [name = "", value] = Object.entries(fieldsOf(act))[0] ?? [];
    if (name === "progress") held.note({ progress: progressOf(fieldsOf(value)) });
    else if (name === "details") held.note({ details: json(value) });
    else if (name !== "await") return [name, outcome(name, value, task)];
    else {
      emit("waiting", { ...about, path: value });
      while (!existsSync(String(value)) && held.stopped() === null) await sleep(20);
      if (existsSync(String(value))) continue;
      const why = held.stopped();
      emit("stopped", { ...about, why });
      const [other, given] = Object.entries(fieldsOf(fieldsOf(act).on_stop))[0] ?? [];
      if (other !== undefined) return [other, outcome(other, given, task)];
      return ["stopped", why === "cancelled" ? outcome(why, {}, task) : unknown(why)];
    }
  }
  return ["", outcomeOf({ case: "success", value: {} })];
}

function progressOf({ fraction, counter, cursor }: Fields): Progress {
  const kind =
    fraction !== undefined
      ? { case: "fraction" as const, value: Number(fraction) }
      : counter !== undefined
        ? { case: "counter" as const, value: BigInt(Number(counter)) }
        : { case: "cursor" as const, value: String(cursor) };
  return create(ProgressSchema, { kind });
}
