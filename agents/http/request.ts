/**
 * Makes the request of a task from its input: the URL of an allowed host, headers with the keys and
 * the secrets, and the body. Each mistake is found before anything is sent.
 */

import { PermanentError, type Task, TransientError } from "@drover/sdk";
import { isJsonObject, type Json } from "@drover/server/expressions/json.ts";
import { badInput, compiled, evaluated, type Facts, keyOf, scopeWith } from "../facts.ts";
import type { Secrets } from "../secrets.ts";
import type { Sent } from "./exchange.ts";
import type { Host } from "./hosts.ts";
import type { ComputedPart, QueryValue, RequestInput } from "./input.ts";

export interface PreparedRequest {
  readonly host: Host;
  readonly sent: Sent;
}

export interface Preparation {
  readonly task: Task;
  readonly facts: Facts;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly secrets: Secrets;
  /** Whether the request makes an effect, and so carries the idempotency key. */
  readonly hasEffect: boolean;
}

/** The key of the effect that a verify or an undo is about. */
export const EFFECT_KEY_HEADER = "drover-effect-key";

/** Headers that the agent or its HTTP client sets; a step cannot. */
const OWN_HEADERS = new Set(
  "connection content-length drover-effect-key expect host keep-alive proxy-authorization proxy-connection te traceparent tracestate trailer transfer-encoding upgrade".split(
    " ",
  ),
);

const SCOPE = scopeWith(new Map());
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether the method makes no effect, by RFC 9110. */
export function isSafe(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/** Throws PermanentError, or TransientError where a secret cannot be read. */
export async function prepared(
  input: RequestInput,
  preparation: Preparation,
): Promise<PreparedRequest> {
  const parts = computed(input, preparation.facts);
  const url = urlOf(parts);
  const host = hostOf(url, preparation);
  const body = bodyOf(parts);
  const method = input.method ?? (body === null ? "GET" : "POST");
  if (body !== null && (method === "GET" || method === "HEAD"))
    throw badInput(`a ${method} has no body: remove \`body\`, or write another \`method\``);
  const headers = await headersOf(parts, body, host, preparation);
  // Without it, a service may wait for a body, or refuse the request.
  if (body === null && !isSafe(method)) headers.set("content-length", "0");
  return { host, sent: { method, url, headers: checkedHeaders(headers), body } };
}

/** The input with the values of its `compute`. */
function computed(input: RequestInput, facts: Facts): RequestInput {
  const value = (part: ComputedPart): Json | undefined => {
    const text = input.compute?.[part];
    if (text === undefined) return undefined;
    const found = evaluated(compiled(text, SCOPE, `compute.${part}`), facts);
    if (found.ok) return found.value;
    throw badInput(`compute.${part}: ${found.message}`);
  };
  const url = value("url");
  const path = value("path");
  const body = value("body");
  return {
    ...input,
    ...(url !== undefined && { url: String(url) }),
    ...(path !== undefined && { path: segmentsIn(path) }),
    ...(body !== undefined && { body }),
    query: { ...input.query, ...queryIn(value("query")) },
    headers: { ...input.headers, ...textsIn(value("headers")) },
  };
}

function segmentsIn(value: Json): readonly (string | number)[] {
  const parts: readonly Json[] = Array.isArray(value) ? value : [value];
  return parts.map((part) => {
    if (typeof part === "string" || typeof part === "number") return part;
    throw badInput("compute.path: it must be a list of texts and numbers");
  });
}

function queryIn(value: Json = {}): Readonly<Record<string, QueryValue>> {
  if (!isJsonObject(value)) throw badInput("compute.query: it must be a map");
  const isSingle = (one: Json) => one === null || typeof one !== "object";
  const scalar = (one: Json): string => (typeof one === "string" ? one : JSON.stringify(one));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const list: readonly Json[] = Array.isArray(one) ? one : [one];
      if (!list.every(isSingle)) throw badInput(`compute.query: ${name} must be a single value`);
      return [name, one === null ? null : list.map(scalar)];
    }),
  );
}

function textsIn(value: Json = {}): Readonly<Record<string, string | number>> {
  if (!isJsonObject(value)) throw badInput("compute.headers: it must be a map");
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (typeof one === "string" || typeof one === "number") return [name, one];
      throw badInput(`compute.headers: ${name} must be a text or a number`);
    }),
  );
}

function urlOf({ url: text, path = [], query = {} }: RequestInput): URL {
  if (text === undefined) throw badInput("url is missing: add `url: https://...`");
  if (!URL.canParse(text)) throw badInput(`the url is no address: ${text.slice(0, 200)}`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw badInput("the url has a user or a password: use `secrets` for a header");
  url.hash = "";
  if (path.length > 0)
    url.pathname = [url.pathname.replace(/\/$/, ""), ...path.map(segmentOf)].join("/");
  for (const [name, value] of Object.entries(query))
    for (const one of value === null ? [] : [value].flat())
      url.searchParams.append(name, String(one));
  return url;
}

/** One segment, whatever is in it: a dot or two would lead to another path. */
function segmentOf(part: string | number): string {
  const text = String(part);
  if (text === "" || text === "." || text === "..")
    throw badInput(`path: "${text}" is no name of a resource`);
  return encodeURIComponent(text.toWellFormed());
}

function hostOf(url: URL, { hosts }: Preparation): Host {
  const host = hosts.get(url.origin);
  if (host) return host;
  throw new PermanentError(
    "host-not-allowed",
    `The agent may not call ${url.origin}: add it to the \`hosts\` of the agent's settings.`,
  );
}

function contentTypeOf({ headers = {} }: RequestInput): string | undefined {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type");
  return found && String(found[1]);
}

/** JSON, unless the content type asks for a form or for plain text. */
function bodyOf(input: RequestInput): Buffer | null {
  const { body } = input;
  if (body === undefined) return null;
  const type = contentTypeOf(input) ?? "application/json";
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return formOf(body);
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(type);
  if (!isJson && typeof body !== "string")
    throw badInput(`a body of the type ${type} must be text, or the type must be JSON`);
  return Buffer.from(isJson ? JSON.stringify(body) : String(body));
}

function formOf(body: unknown): Buffer {
  if (typeof body === "string") return Buffer.from(body);
  if (typeof body !== "object" || body === null) throw badInput("the body of a form must be a map");
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body))
    for (const one of [value].flat()) form.append(name, String(one));
  return Buffer.from(form.toString());
}

async function headersOf(
  input: RequestInput,
  body: Buffer | null,
  host: Host,
  { task, secrets, hasEffect }: Preparation,
): Promise<Map<string, string>> {
  const headers = new Map([
    ["accept", "application/json"],
    ["accept-encoding", "identity"],
    ["user-agent", "drover"],
  ]);
  if (body !== null) headers.set("content-type", "application/json");
  const idempotency = host.idempotencyHeader.toLowerCase();
  for (const [name, value] of Object.entries(input.headers ?? {})) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || lower === idempotency)
      throw badInput(`headers: the agent sets ${name} by itself`);
    headers.set(lower, String(value));
  }
  if (body !== null) headers.set("content-length", String(body.length));
  if (hasEffect) headers.set(idempotency, task.idempotencyKey);
  if (task.kind !== "perform") headers.set(EFFECT_KEY_HEADER, keyOf(task));
  for (const [name, secret] of Object.entries(input.secrets ?? {})) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || lower === idempotency)
      throw badInput(`secrets: the agent sets ${name} by itself`);
    headers.set(lower, await secretOf(secret, host, secrets));
  }
  return headers;
}

async function secretOf(name: string, host: Host, secrets: Secrets): Promise<string> {
  const source = host.secrets.get(name);
  if (!source) {
    const known = [...host.secrets.keys()].join(", ") || "none";
    throw badInput(`the host ${host.origin} has no secret "${name}" in the settings: ${known}`);
  }
  try {
    return await secrets.read(name, source);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TransientError("secret-unreadable", why);
  }
}

/** Characters that no header may have would be an error of the client with the value in it. */
function checkedHeaders(headers: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  for (const [name, value] of headers)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw badInput(`the header ${name} has characters that no header may have`);
  return Object.fromEntries(headers);
}
