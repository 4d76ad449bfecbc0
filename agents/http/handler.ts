/**
 * The handler of the task `http`: it performs, verifies and undoes steps by requests.
 *
 *   perform, undo   request -> outcome
 *                      '----> 202: address stored, handed out again -> poll -> outcome
 *   verify          request -> it happened, it did not, or that cannot be said
 *
 * Between two polls no agent holds the task, so a service may take days. The address is stored with
 * the attempt before the agent lets go, so no repeat sends the request again.
 */

import {
  again,
  CancelledError,
  cannotTell,
  deferred,
  didNotHappen,
  type Handler,
  happened,
  PermanentError,
  type Answer as Reply,
  type Task,
  type TaskContext,
  TransientError,
  UnknownError,
} from "@drover/sdk";
import type { Json } from "@drover/server/expressions/json.ts";
import { badInput, compiled, type Facts, factsOf } from "../facts.ts";
import { outputLost, withoutSecrets } from "../report.ts";
import type { Secrets } from "../secrets.ts";
import { msOf } from "../settings-file.ts";
import { ANSWER_SCOPE, type Answer, answerOf } from "./answer.ts";
import type { ExchangeLimits } from "./exchange.ts";
import type { Host } from "./hosts.ts";
import { checkHttpInput, type HttpInput, type OperationInput, type RequestInput } from "./input.ts";
import { type Found, type Poll, polled, pollOf, pollRequest } from "./poll.ts";
import { type Followed, follow } from "./redirects.ts";
import { isSafe, type PreparedRequest, prepared } from "./request.ts";
import { type Circumstances, type Conclusion, conclude, type Rules, rulesOf } from "./rules.ts";
import type { HttpSettings } from "./settings.ts";
import { concludeVerify } from "./verify.ts";

export interface HttpWorld {
  readonly settings: HttpSettings;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly secrets: Secrets;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
}

/** What one task is worked on with. */
interface Work extends HttpWorld {
  readonly task: Task;
  readonly context: TaskContext;
  readonly input: HttpInput;
  readonly facts: Facts;
}

export function createHttpHandler(world: HttpWorld): Handler {
  return async (task, context) => {
    try {
      const work = { ...world, task, context, input: inputOf(task), facts: factsOf(task) };
      if (task.kind === "verify") return await verify(work);
      return await operate(work, task.kind === "compensate" ? undoOf(work.input) : work.input);
    } catch (error) {
      throw withoutSecrets(error, world.secrets, context.signal);
    }
  };
}

function inputOf(task: Task): HttpInput {
  const checked = checkHttpInput(task.input());
  if (checked.kind === "good") return checked.value;
  const [first] = checked.problems;
  throw badInput([first?.path, first?.message].filter(Boolean).join(": "));
}

function undoOf({ undo }: HttpInput): OperationInput {
  if (undo) return undo;
  throw badInput("the step has a compensate task, and its input has no `undo`");
}

async function operate(work: Work, operation: OperationInput): Promise<Reply | Json> {
  const { task, context, facts, hosts, secrets } = work;
  const rules = rulesOf(operation, task.kind === "compensate" ? "undo." : "");
  const preparation = { task, facts, hosts, secrets, hasEffect: true };
  const request = await prepared(operation, preparation);
  const poll = pollOf(facts.get("details") ?? null, task.idempotencyKey);
  if (poll) return continuePoll(work, operation, rules, request, poll);
  const followed = await send(work, operation, request);
  const of = circumstancesOf(work, request, followed);
  const conclusion = concluded(work, followed, rules, of);
  context.log.info({ outcome: conclusion.kind }, of.what);
  if (conclusion.kind !== "accepted") return report(conclusion);
  const location = locationOf(conclusion.location, followed.url);
  return waitFor(work, operation, { location, afterMs: conclusion.afterMs });
}

async function send(
  { settings, context }: Pick<Work, "settings" | "context">,
  input: RequestInput,
  request: PreparedRequest,
  redirectsMax = input.redirects ?? 0,
): Promise<Followed> {
  return follow(request, redirectsMax, limitsOf(settings, input), context.signal);
}

function limitsOf(settings: HttpSettings, { timeout }: RequestInput): ExchangeLimits {
  const timeoutMs = msOf(timeout ?? settings.timeout, "30s");
  return {
    timeoutMs,
    connectMs: Math.min(timeoutMs, msOf(settings.connect_timeout, "5s")),
    bytesMax: settings.answer_bytes ?? 1024 * 1024,
  };
}

function circumstancesOf(
  { task, facts, nowMs, secrets }: Work,
  { sent: { method, url } }: PreparedRequest,
  { isAfterEffect }: Pick<Followed, "isAfterEffect">,
): Circumstances {
  return {
    what: secrets.hide(`${method} ${url.origin}${url.pathname}`),
    isSafe: isSafe(method) && !isAfterEffect,
    isFirst: task.fence === 1 && !isAfterEffect,
    facts,
    nowMs: nowMs(),
  };
}

/** Throws where the task had to stop. */
function concluded(
  { secrets, context: { signal }, task }: Work,
  { exchange, isAfterEffect }: Followed,
  rules: Rules,
  of: Circumstances,
): Conclusion {
  if (exchange.kind !== "stopped")
    return afterEffect(
      conclude(exchange, rules, of, (raw) => answerOf(raw, secrets)),
      isAfterEffect,
    );
  if (!exchange.isSent && of.isFirst && task.kind === "perform" && isCancel(signal))
    throw new CancelledError("Nothing had been sent.", { noEffect: true });
  throw signal.reason;
}

/** The effect was made before the redirect: that its result could not be read is no failure. */
function afterEffect(conclusion: Conclusion, isAfterEffect: boolean): Conclusion {
  const isFailure = conclusion.kind === "transient" || conclusion.kind === "permanent";
  if (!isAfterEffect || !isFailure) return conclusion;
  const { code, message } = conclusion;
  return { kind: "unknown", code, message };
}

function isCancel({ reason }: AbortSignal): boolean {
  return (
    typeof reason === "object" && reason !== null && Reflect.get(reason, "kind") === "cancelled"
  );
}

function report(conclusion: Exclude<Conclusion, { kind: "accepted" }>): Reply | Json {
  switch (conclusion.kind) {
    case "success":
      return conclusion.output;
    case "output-lost":
      return outputLost(conclusion.problem);
    case "deferred":
      return deferred();
    case "transient": {
      const { code, message, afterMs, noEffect } = conclusion;
      const after = afterMs === null ? {} : { retryAfter: afterMs };
      throw new TransientError(code, message, { noEffect, ...after });
    }
    case "permanent": {
      const { code, message, noEffect } = conclusion;
      throw new PermanentError(code, message, { noEffect });
    }
    case "unknown":
      throw new UnknownError(conclusion.code, conclusion.message);
  }
}

function locationOf(text: string, base: URL): URL {
  const url = URL.canParse(text, base.href) ? new URL(text, base) : null;
  if (url?.origin === base.origin && url.username === "" && url.password === "") return url;
  const message = `The work was accepted, and its Location is not on the same host: ${text.slice(0, 200)}`;
  throw new UnknownError("location-elsewhere", message);
}

/** Lets go of the task until the next poll. */
async function waitFor(
  { task, context }: Work,
  { poll }: OperationInput,
  { location, afterMs }: { readonly location: URL; readonly afterMs: number | null },
): Promise<Reply> {
  const stored: Poll = { poll: location.href, key: task.idempotencyKey };
  context.details(stored);
  await context.stored();
  return again({ after: Math.max(afterMs ?? msOf(poll?.every, "5s"), AGAIN_MS_MIN) });
}

/** Less would be a load on the server for nothing. */
const AGAIN_MS_MIN = 100;
/** To the result, which many services keep at another address than the progress. */
const POLL_REDIRECTS_MAX = 3;

async function continuePoll(
  work: Work,
  operation: OperationInput,
  rules: Rules,
  first: PreparedRequest,
  { poll }: Poll,
): Promise<Reply | Json> {
  const { context } = work;
  const location = locationOf(poll, first.sent.url);
  const request = pollRequest(first, location);
  const followed = await send(work, operation, request, POLL_REDIRECTS_MAX);
  if (followed.exchange.kind === "stopped") throw context.signal.reason;
  const of = { ...circumstancesOf(work, request, followed), isSafe: false, isFirst: false };
  const found: Found = polled(followed.exchange, rules, of, (raw) => answerOf(raw, work.secrets));
  context.log.info({ outcome: found.kind }, of.what);
  if (found.kind === "again") {
    const next = found.location ? locationOf(found.location, followed.url) : location;
    return waitFor(work, operation, { location: next, afterMs: found.afterMs });
  }
  if (found.kind === "unknown" || found.kind === "transient") {
    // The next attempt sends the request again, with the same key.
    context.details(null);
    await context.stored();
  }
  return report(found);
}

async function verify(work: Work): Promise<Reply> {
  const { task, context, input, facts, hosts, secrets } = work;
  if (!input.verify) throw badInput("the step has a verify task, and its input has no `verify`");
  const { did, did_not: didNot, output = input.output } = input.verify;
  const rules = {
    did: compiled(did, ANSWER_SCOPE, "verify.did", "bool"),
    didNot: compiled(didNot, ANSWER_SCOPE, "verify.did_not", "bool"),
    output: output === undefined ? null : compiled(output, ANSWER_SCOPE, "verify.output"),
  };
  const preparation = { task, facts, hosts, secrets, hasEffect: false };
  const request = await prepared(input.verify, preparation);
  const { exchange } = await send(work, input.verify, request);
  if (exchange.kind === "stopped") throw context.signal.reason;
  const { what } = circumstancesOf(work, request, { isAfterEffect: false });
  if (exchange.kind !== "answered") return cannotTell(`${what}: ${exchange.message}`);
  const answer: Answer = answerOf(exchange.answer, secrets);
  const found = concludeVerify(answer, rules, facts, what);
  context.log.info({ outcome: found.kind }, what);
  if (found.kind === "did") return happened(found.output);
  return found.kind === "did-not" ? didNotHappen() : cannotTell(found.message);
}
