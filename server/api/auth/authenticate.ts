// Authenticates a call by its API token or JWT, or without one by its client certificate. Checks
// the role that its RPC requires, the namespace that it is about, and for an agent its queues. The
// table of roles is roles.ts.
//
//   no token, unknown, revoked, expired → TOKEN_REQUIRED       not for this → NOT_ALLOWED
//   the keys of the identity provider cannot be read → KEYS_UNAVAILABLE
import { type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import {
  CompleteRequestSchema,
  NextSchema,
  PollTaskRequestSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { CompleteDeferredRequestSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { IdentityConfig } from "../../identity-config.ts";
import type { Tokens } from "../../store/tokens.ts";
import { queuesFrom } from "../agent/agent-service.ts";
import type { Call, Log } from "../calls/mount.ts";
import { DEFAULT_NAMESPACE } from "../calls/namespace-names.ts";
import { callbackTokenFrom } from "../run/run-commands.ts";
import { apiTokenDigest } from "./api-token.ts";
import { type Caller, callerWords } from "./caller.ts";
import { createClientIdentities } from "./client-identities.ts";
import { createJwtVerifier, type VerifyJwt } from "./jwt.ts";
import { createKnownTokens, type HeldToken } from "./known-tokens.ts";
import { fullNameOf, PERMISSIONS, type Permission } from "./roles.ts";

/** What a call presents. */
type Presented = Pick<Call, "header" | "certificate">;

/** Throws TOKEN_REQUIRED or NOT_ALLOWED. Answers synchronously, unless the token must be read. */
export type Authenticator = (call: Presented, request: Message) => Caller | Promise<Caller>;

export interface Identity {
  authenticatorOf(method: DescMethod): Authenticator;
  /** The caller, if its token may see what a viewer of every namespace sees. For pages. */
  mayWatch(call: Presented): Promise<Caller>;
  /** Called when a token was revoked on this server: no cached token is trusted any more. */
  forget(): void;
}

const BEARER = /^Bearer +(drover_[A-Za-z0-9_-]{43})$/i;
const BEARER_JWT = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)$/i;
const WATCHING: Permission = { roles: ["viewer", "operator", "admin"], scope: "control-plane" };

interface IdentityDeps {
  readonly tokens: Pick<Tokens, "find" | "noteUse">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createIdentity(config: IdentityConfig, deps: IdentityDeps): Identity {
  const { tokens, clock } = deps;
  const { oidc, clientIdentitiesFile: file } = config;
  const known = createKnownTokens(tokens, clock);
  const verifyJwt = oidc && createJwtVerifier(oidc, clock);
  const findClient = file === null ? null : createClientIdentities(file, deps);

  function callerOf(call: Presented): Caller | Promise<Caller> {
    const credentials = call.header("authorization");
    if (credentials === null) return clientOf(call);
    const jwt = verifyJwt && BEARER_JWT.exec(credentials)?.[1];
    if (jwt) return holderOf(jwt, verifyJwt);
    const secret = BEARER.exec(credentials)?.[1];
    if (secret === undefined)
      throw unidentified("malformed", "The call's authorization is no API token of Drover");
    const found = known.find(apiTokenDigest(secret));
    return found instanceof Promise ? found.then(ownerOf) : ownerOf(found);
  }

  function clientOf({ certificate: presented }: Presented): Caller {
    const certificate = findClient && presented();
    if (!findClient || !certificate) throw unidentified("missing", "The call has no API token");
    if (certificate.validUntil <= clock.wallMs())
      throw unidentified("expired", "The client certificate of the call has expired");
    const caller = findClient(certificate);
    if (caller) return caller;
    throw unidentified("missing", "The call has no API token, and its certificate is not mapped");
  }

  function ownerOf(token: HeldToken | null): Caller {
    if (token === null) throw unidentified("unknown", "The API token of the call is not known");
    if (token.revoked) throw unidentified("revoked", `The API token "${token.name}" is revoked`);
    if (token.goodUntil !== null && token.goodUntil <= clock.monotonicMs())
      throw unidentified("expired", `The API token "${token.name}" has expired`);
    const { id, name, role, queues, namespace } = token;
    const namespaces = namespace === null ? null : [namespace];
    return { proof: "token", id, name, role, namespaces, queues, groups: [] };
  }

  function authenticating(what: string, permission: Permission, about: ScopeCheck): Authenticator {
    const authorize = (caller: Caller, request: Message): Caller => {
      if (!permission.roles.includes(caller.role)) throw wrongRole(caller, what, permission);
      about(caller, request);
      return caller;
    };
    return (call, request) => {
      const caller = callerOf(call);
      if (caller instanceof Promise) return caller.then((found) => authorize(found, request));
      return authorize(caller, request);
    };
  }

  return Object.freeze({
    authenticatorOf(method) {
      const permission = PERMISSIONS.get(fullNameOf(method));
      if (!permission) throw new Error(`${fullNameOf(method)} is missing in api/auth/roles.ts`);
      return authenticating(method.name, permission, aboutOf(method, permission));
    },
    mayWatch: async (call) => {
      const caller = await callerOf(call);
      if (!WATCHING.roles.includes(caller.role)) throw wrongRole(caller, "this page", WATCHING);
      everyNamespace(caller);
      return caller;
    },
    forget: known.forget,
  } satisfies Identity);
}

async function holderOf(jwt: string, verify: VerifyJwt): Promise<Caller> {
  const verified = await verify(jwt);
  if (verified.kind === "refused") throw unidentified(verified.why, verified.problem);
  return verified.caller;
}

/** Throws NOT_ALLOWED if the caller may not do what the request is about. */
type ScopeCheck = (caller: Caller, request: Message) => void;

function aboutOf(method: DescMethod, { scope }: Permission): ScopeCheck {
  switch (scope) {
    case "own":
      return () => {};
    case "control-plane":
      return everyNamespace;
    case "callback":
      return (caller, request) => {
        if (!isMessage(request, CompleteDeferredRequestSchema))
          throw new Error(`${method.name} has no callback token`);
        if (caller.namespaces !== null)
          sameNamespace(caller, callbackTokenFrom(request.callbackToken).namespace);
      };
    case "namespace":
      if (!method.input.fields.some(({ localName }) => localName === "namespace"))
        throw new Error(
          `${fullNameOf(method)} has no namespace field: name its resource another way`,
        );
      return (caller, request) => {
        if (caller.namespaces !== null) sameNamespace(caller, namespaceOf(request));
        if (caller.queues.length > 0) ownQueues(caller, request);
      };
  }
}

function namespaceOf(request: Message): string {
  return "namespace" in request ? String(request.namespace) : "";
}

/** Throws NOT_ALLOWED for a caller who may not make this call, which another call includes. */
export function mayCall(caller: Caller | null, method: DescMethod): void {
  const permission = PERMISSIONS.get(fullNameOf(method));
  if (caller !== null && permission?.roles.includes(caller.role) === false)
    throw wrongRole(caller, method.name, permission);
}

/** Throws NOT_ALLOWED for a caller of certain namespaces. */
export function everyNamespace(caller: Caller): void {
  if (caller.namespaces === null) return;
  throw notAllowed(
    caller,
    `is for ${namespaceWords(caller.namespaces)} alone, and this concerns all of them`,
    "a token for every namespace",
  );
}

function sameNamespace(caller: Caller, named: string): void {
  const namespace = named === "" ? DEFAULT_NAMESPACE : named;
  if (caller.namespaces === null || caller.namespaces.includes(namespace)) return;
  throw notAllowed(
    caller,
    `is for ${namespaceWords(caller.namespaces)}, and the call names "${namespace}"`,
    `a token for the namespace ${namespace}`,
  );
}

function namespaceWords(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`).join(", ");
  if (names.length === 0) return "no namespace";
  return names.length === 1 ? `the namespace ${quoted}` : `the namespaces ${quoted}`;
}

function ownQueues(caller: Caller, request: Message): void {
  for (const queue of polledBy(request))
    if (!caller.queues.includes(queue))
      throw notAllowed(
        caller,
        `may poll ${caller.queues.join(", ")}, and the call names the queue "${queue}"`,
        `a token for the queue ${queue}`,
      );
}

function polledBy(request: Message): readonly string[] {
  const poll = isMessage(request, CompleteRequestSchema) ? request.next : request;
  const isPoll = isMessage(poll, PollTaskRequestSchema) || isMessage(poll, NextSchema);
  return isPoll ? queuesFrom(poll.queues).map(({ name }) => name) : [];
}

function wrongRole(caller: Caller, what: string, { roles }: Permission): DroverError {
  const one = roles.length > 1 ? `one of the roles ${roles.join(", ")}` : `the role ${roles[0]}`;
  return notAllowed(caller, `has the role "${caller.role}", and ${what} takes ${one}`, one);
}

function notAllowed(caller: Caller, why: string, needs: string): DroverError {
  const { proof, name, role } = caller;
  const next =
    proof === "token"
      ? "use another one (drover token list shows them to admins)"
      : "ask an administrator for the permission";
  return new DroverError("NOT_ALLOWED", `${callerWords(caller)} ${why}: ${next}.`, {
    metadata: { token: name, role, needs },
  });
}

function unidentified(why: string, problem: string): DroverError {
  return new DroverError(
    "TOKEN_REQUIRED",
    `${problem}, and this server requires a valid one: send it as ` +
      "`authorization: Bearer drover_...` (--token or DROVER_TOKEN); an admin makes one with " +
      "drover token create.",
    { metadata: { why } },
  );
}
