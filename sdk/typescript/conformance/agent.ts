/**
 * The SDK under the conformance suite: one handler that does what the input of its task says. The
 * words are in test/conformance/PROTOCOL.md.
 */
import { existsSync } from "node:fs";
import { sleep, systemClock } from "../clock.ts";
import {
  aesGcmCodec,
  again,
  CancelledError,
  cannotTell,
  createAgent,
  deferred,
  didNotHappen,
  happened,
  PermanentError,
  type Task,
  type TaskContext,
  TaskStopped,
  TransientError,
  UnknownError,
} from "../index.ts";

type Words = Readonly<Record<string, unknown>>;

const scanEveryMs = 20;

function say(event: string, more: Words = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
}

function isWords(value: unknown): value is Words {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function words(value: unknown): Words {
  if (!isWords(value)) throw new PermanentError("bad-script", "An object was expected here.");
  return value;
}

/** The acts of this try. */
function actsOf(task: Task): readonly unknown[] {
  const tries = words(task.input())[task.kind];
  const number = task.kind === "perform" ? task.fence : task.attempt;
  if (!Array.isArray(tries)) return [];
  const acts: unknown = tries[Math.min(number, tries.length) - 1];
  return Array.isArray(acts) ? acts : [];
}

async function work(task: Task, context: TaskContext): Promise<unknown> {
  const { runId: run, stepId: step, kind, attempt, fence, item } = task;
  const about = { run, step, kind, attempt, fence };
  say("started", {
    ...about,
    item,
    key: task.idempotencyKey,
    effect_key: task.effectKey,
    callback_token: task.callbackToken,
  });
  let ended = "";
  try {
    for (const act of actsOf(task)) {
      const [name = "", value] = Object.entries(words(act))[0] ?? [];
      if (name === "await" || name === "deaf") {
        say("waiting", { ...about, path: value });
        const stopped = await appeared(String(value), name === "await" ? context.signal : null);
        if (stopped === null) continue;
        say("stopped", { ...about, why: stopped.kind });
        const instead = words(act).on_stop;
        if (instead === undefined) {
          ended = "stopped";
          throw stopped;
        }
        const [other = "", given] = Object.entries(words(instead))[0] ?? [];
        ended = other;
        return end(other, given, task);
      }
      if (note(name, value, context)) continue;
      ended = name;
      return end(name, value, task);
    }
    return undefined;
  } finally {
    say("ended", { ...about, act: ended });
  }
}

/** Null: the file is there. Else why the task must stop; without a signal nothing makes it stop. */
async function appeared(path: string, signal: AbortSignal | null): Promise<TaskStopped | null> {
  while (!existsSync(path)) {
    if (signal?.reason instanceof TaskStopped) return signal.reason;
    await sleep(systemClock, scanEveryMs);
  }
  return null;
}

/** Whether it was an act after which the handler continues. */
function note(name: string, value: unknown, { progress, details, log }: TaskContext): boolean {
  if (name === "progress") {
    const { fraction, counter, cursor } = words(value);
    if (fraction !== undefined) progress({ fraction: Number(fraction) });
    else if (counter !== undefined) progress({ counter: Number(counter) });
    else progress({ cursor: String(cursor) });
  } else if (name === "details") details(value);
  else if (name === "log") log.info({}, String(value));
  else return false;
  return true;
}

function end(name: string, value: unknown, task: Task): unknown {
  const given = isWords(value) ? value : {};
  const code = String(given.code);
  const message = String(given.message ?? "");
  const noEffect = given.no_effect === true;
  switch (name) {
    case "success":
      return value;
    case "echo":
      if (value === "input") return task.input() ?? null;
      return (value === "details" ? task.lastDetails() : task.output()) ?? null;
    case "large":
      return "x".repeat(Number(value));
    case "fail": {
      if (given.permanent === true) throw new PermanentError(code, message, { noEffect });
      const after = given.retry_after_ms;
      const wait = after === undefined ? {} : { retryAfter: Number(after) };
      throw new TransientError(code, message, { noEffect, ...wait });
    }
    case "unknown":
      throw new UnknownError(code, message);
    case "again":
      return again({ after: Number(given.after_ms) });
    case "deferred":
      return deferred();
    case "cancelled":
      throw new CancelledError(message, { noEffect });
    case "happened":
      return happened(value);
    case "did_not_happen":
      return didNotHappen();
    case "cannot_tell":
      return cannotTell(message);
    case "throw":
      throw new Error(String(value));
    default:
      throw new PermanentError("bad-script", `There is no act "${name}".`);
  }
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; the suite sets it.`);
  return value;
}

const toStderr =
  (level: string) =>
  (fields: Words, message: string): void =>
    void process.stderr.write(`${JSON.stringify({ level, ...fields, message })}\n`);

const codecKey = process.env.DROVER_CODEC_KEY;
const agent = createAgent({
  address: variable("DROVER_ADDRESS"),
  namespace: variable("DROVER_NAMESPACE"),
  id: variable("DROVER_AGENT"),
  queues: [variable("DROVER_QUEUE")],
  slots: Number(variable("DROVER_SLOTS")),
  pollWait: Number(variable("DROVER_POLL_WAIT_MS")),
  grace: Number(variable("DROVER_GRACE_MS")),
  cancelGrace: Number(variable("DROVER_CANCEL_GRACE_MS")),
  ...(codecKey !== undefined && { codec: aesGcmCodec(Buffer.from(codecKey, "hex")) }),
  handleSignals: true,
  log: Object.freeze({
    debug: toStderr("debug"),
    info: toStderr("info"),
    warn: toStderr("warn"),
    error: toStderr("error"),
  }),
  handlers: { work, check: work, undo: work },
});
say("ready");
agent.start();
await agent.done;
