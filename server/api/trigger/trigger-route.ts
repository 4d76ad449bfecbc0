// POST /hooks/NAMESPACE/NAME: a service that does not know Drover calls a trigger.
//
//   body within its limit, JSON → authentication → mapping → scheduler → answer
//
// Promise: 200 is answered after the commit, and a repeat with the same key gets the same answer. A
// caller that is not authenticated learns nothing: a trigger that does not exist answers like one
// with another secret. Refusals are listed with their reasons; a refusal costs no write of its own
// (triggers/refusals.ts).
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { DroverError, type Reason } from "../../errors.ts";
import type { TriggerFacts } from "../../expressions/trigger-mapping.ts";
import type { TriggerWork } from "../../integrations/triggers/trigger-work.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { Namespace } from "../../store/store.ts";
import type { KnownTrigger } from "../../store/triggers.ts";
import type { Drain } from "../calls/drain.ts";
import type { FailOvers } from "../calls/fail-overs.ts";
import type { Log } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { createDepthMeter } from "../transport/json-depth.ts";
import type { TriggerActions } from "./trigger-actions.ts";
import { authDummy, authProblem } from "./trigger-signature.ts";

interface TriggerRouteDeps {
  readonly store: Pick<AllShards, "triggers">;
  readonly namespaces: Namespaces;
  readonly triggers: TriggerWork;
  readonly actions: TriggerActions;
  readonly drain: Drain;
  readonly config: { readonly payloadBytesMax: number; readonly callsMax: number };
  /**
   * The sender dates a signature by its own clock, so the server's clock needs no more precision.
   */
  readonly clock: Pick<Clock, "wallMs" | "after">;
  readonly log: Log;
  readonly failOvers: FailOvers;
}

export interface TriggerRoute {
  isFor(request: Pick<IncomingMessage, "url">): boolean;
  /** False: there is no such path here. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The trigger that a call addresses. */
interface Target {
  readonly namespace: Namespace;
  readonly trigger: KnownTrigger;
}

const PATH = /^\/hooks\/([A-Za-z0-9._-]{1,128})\/([A-Za-z0-9._-]{1,128})$/;
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json\s*(?:;|$)/i;
const RETRY_AFTER_MS = 1_000;

/** It is unknown whether the call took effect, or it may succeed later: the sender repeats it. */
const RETRYABLE: ReadonlySet<Reason> = new Set([
  "STORE_UNAVAILABLE",
  "OVERLOADED",
  "DRAINING",
  "NAMESPACE_LIMIT",
]);
/** The request conflicts with the current state. */
const CONFLICTS: ReadonlySet<Reason> = new Set([
  "KEY_REUSED",
  "RUN_STATE",
  "LEASE_LOST",
  "TASK_OVER",
]);

export function createTriggerRoute(deps: TriggerRouteDeps): TriggerRoute {
  const { drain, config, log, clock } = deps;

  async function serve(request: IncomingMessage, response: ServerResponse, path: string) {
    const busy = drain.isDraining || drain.working >= config.callsMax;
    if (busy)
      return send(response, retryLater("DRAINING", "this server is about to stop, or busy"));
    const leave = drain.enter();
    try {
      const answer = await answerTo(deps, request, path);
      if (answer) send(response, answer);
      if (!request.complete) response.once("finish", () => skipRest(request, clock));
    } finally {
      leave();
    }
  }

  const isFor = ({ url = "" }: Pick<IncomingMessage, "url">): boolean => url.startsWith("/hooks/");

  return Object.freeze({
    isFor,
    handle(request: IncomingMessage, response: ServerResponse): boolean {
      if (!isFor(request)) return false;
      const path = request.url?.split("?", 1)[0] ?? "";
      serve(request, response, path).catch((error: unknown) => {
        log.error({ err: error }, "a call of a trigger met a defect");
        response.destroy();
      });
      return true;
    },
  });
}

/** null: the caller has disconnected. */
async function answerTo(
  deps: TriggerRouteDeps,
  request: IncomingMessage,
  path: string,
): Promise<Answer | null> {
  if (request.method !== "POST") {
    const refused = refusal(405, "METHOD", "a trigger is called by POST");
    return { ...refused, headers: { allow: "POST" } };
  }
  const body = await readBody(request, deps.config.payloadBytesMax);
  if (body.kind === "gone") return null;
  const seen = deps.failOvers.begin();
  try {
    const target = await targetOf(deps, path);
    const listed = (answer: Refusal, why = answer.body.message): Answer => {
      if (target) list(deps, target, answer.body.reason, why);
      return answer;
    };
    if (body.kind === "too-large") {
      const message = `the body has more than ${deps.config.payloadBytesMax} bytes: send an address of it`;
      return listed(refusal(413, "BODY_TOO_LARGE", message));
    }
    const wrongType = typeProblem(request);
    if (wrongType) return listed(refusal(415, "CONTENT_TYPE", wrongType));
    const call = { headers: headersOf(request), body: body.bytes, nowMs: deps.clock.wallMs() };
    const source = target?.trigger.definition.source;
    if (!target || source?.kind !== "http") {
      authDummy(call);
      return UNAUTHENTICATED;
    }
    const authFailure = authProblem(source.auth, target.trigger, call);
    if (authFailure) return listed(UNAUTHENTICATED, authFailure);
    const json = jsonOf(body.bytes);
    if (json === undefined)
      return listed(refusal(400, "MALFORMED_BODY", "the body is no JSON in UTF-8"));
    const { authorization: _, ...headers } = call.headers;
    const query = Object.fromEntries(queryOf(request));
    return await runTrigger(deps, target, { kind: "call", body: json, headers, query });
  } catch (error) {
    return failure(deps, seen(error));
  }
}

/** Maps an authenticated call, and performs what the mapping asks for. */
async function runTrigger(
  deps: TriggerRouteDeps,
  target: Target,
  facts: TriggerFacts,
): Promise<Answer> {
  const { namespace, trigger } = target;
  const { name } = trigger.definition;
  const compiled = deps.triggers.compile(trigger.definition);
  if (!compiled.ok) throw new Error(`trigger ${name} was put and does not compile`);
  const mapped = compiled.mapping(facts);
  if (mapped.kind === "nothing") return { status: 200, body: { ignored: "its `when` is false" } };
  if (mapped.kind === "failed") {
    list(deps, target, "MAPPING_FAILED", mapped.message);
    return refusal(422, "MAPPING_FAILED", mapped.message);
  }
  try {
    const { runId } = await deps.actions.perform(namespace, name, mapped.asked);
    return { status: 200, body: { run_id: runId } };
  } catch (error) {
    if (
      !(error instanceof DroverError) ||
      RETRYABLE.has(error.reason) ||
      error.reason === "INTERNAL"
    )
      throw error;
    list(deps, target, error.reason, error.message);
    return refusal(CONFLICTS.has(error.reason) ? 409 : 422, error.reason, error.message);
  }
}

function failure({ log }: TriggerRouteDeps, error: unknown): Answer {
  if (error instanceof DroverError && RETRYABLE.has(error.reason))
    return retryLater(error.reason, error.message, error.retryAfterMs);
  log.error({ err: error }, "a call of a trigger met a defect and was answered INTERNAL");
  return refusal(500, "INTERNAL", "whether it took effect is unknown: send it again");
}

async function targetOf({ store, namespaces }: TriggerRouteDeps, path: string) {
  const [, in_ = "", name = ""] = PATH.exec(path) ?? [];
  if (in_ === "") return null;
  const namespace = await namespaces.find(in_).catch((error: unknown) => {
    if (error instanceof DroverError && error.reason === "NAMESPACE_NOT_FOUND") return null;
    throw error;
  });
  const trigger = namespace && (await store.triggers.find(namespace.id, name));
  return namespace && trigger ? { namespace, trigger } : null;
}

function list({ triggers }: TriggerRouteDeps, target: Target, reason: string, message: string) {
  const trigger = target.trigger.definition.name;
  const namespaceId = target.namespace.id;
  triggers.refused({ namespaceId, trigger, reason, message, runId: null });
}

function typeProblem({ headers }: IncomingMessage): string | null {
  if (!JSON_TYPE.test(headers["content-type"] ?? ""))
    return "the content type has to be application/json";
  const encoding = headers["content-encoding"] ?? "identity";
  return encoding === "identity" ? null : "the body is compressed: send it as it is";
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = ""]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
}

function queryOf({ url = "" }: IncomingMessage): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(url.split("?").slice(1).join("?")))
    if (!found.has(name)) found.set(name, value);
  return found;
}

/** undefined: the bytes are no JSON. */
function jsonOf(bytes: Uint8Array) {
  if (createDepthMeter()(bytes)) return undefined;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

interface Refusal extends Answer {
  readonly body: { readonly reason: string; readonly message: string };
}

function refusal(status: number, reason: string, message: string): Refusal {
  return { status, body: { reason, message } };
}

const UNAUTHENTICATED = refusal(
  401,
  "UNAUTHENTICATED",
  "there is no such trigger, or the call does not prove that it may set it off",
);

/** `retry-after` in whole seconds, as HTTP defines it. */
function retryLater(reason: Reason, message: string, afterMs: number | null = null): Answer {
  const seconds = Math.ceil((afterMs ?? RETRY_AFTER_MS) / 1_000);
  return { ...refusal(503, reason, message), headers: { "retry-after": String(seconds) } };
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  const json = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(`${json}\n`);
}

export type Body =
  | { readonly kind: "read"; readonly bytes: Uint8Array }
  | { readonly kind: "too-large" }
  /** The caller disconnected before the body was complete. */
  | { readonly kind: "gone" };

/**
 * At most this much of a body that is too large is read and dropped, so that its sender receives an
 * answer.
 */
const SKIPPED_BYTES_MAX = 4 * 1024 * 1024;
/** How long the rest of a body is dropped after the answer. */
const SKIPPED_MS_MAX = 1_000;

/**
 * The unread rest of a body would be taken for the next call, so the connection is closed. Closing
 * it at once would reset it, and a sender that still writes could lose the answer.
 */
function skipRest(request: IncomingMessage, clock: Pick<Clock, "after">): void {
  const timer = clock.after(SKIPPED_MS_MAX, () => request.destroy());
  const close = () => {
    timer.cancel();
    request.destroy();
  };
  request.once("end", close).once("close", () => timer.cancel());
  request.resume();
}

/**
 * Reads the body of a plain HTTP call, up to a limit.
 *
 * Keeps no more than `bytesMax`, and never rejects.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const announced = Number(request.headers["content-length"]);
    if (announced > SKIPPED_BYTES_MAX) return { kind: "too-large" };
    // Leaving the loop must not close the connection: the answer is still to be sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) throw new Error("a request was read as text");
      size += chunk.length;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks.length = 0;
      if (size > SKIPPED_BYTES_MAX) break;
    }
  } catch {
    return { kind: "gone" };
  }
  return size > bytesMax ? { kind: "too-large" } : { kind: "read", bytes: Buffer.concat(chunks) };
}
