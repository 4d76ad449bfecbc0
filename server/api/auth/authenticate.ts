// Authenticates a call by its API token, and checks the role that its RPC requires, the namespace
// that it is about, and for an agent its queues. The table of roles is roles.ts.
//
//   no token, unknown, revoked, expired → TOKEN_REQUIRED       not for this → NOT_ALLOWED
import { type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import {
  CompleteRequestSchema,
  NextSchema,
  PollTaskRequestSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { CompleteDeferredRequestSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { Role, Tokens } from "../../store/tokens.ts";
import { queuesFrom } from "../agent/agent-service.ts";
import { DEFAULT_NAMESPACE } from "../calls/namespace-names.ts";
import { callbackTokenFrom } from "../run/run-commands.ts";
import { apiTokenDigest } from "./api-token.ts";
import { createKnownTokens, type HeldToken } from "./known-tokens.ts";
import { fullNameOf, PERMISSIONS, type Permission } from "./roles.ts";

/** The owner of the token that a call sent. */
export interface Caller {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** null: every namespace. */
  readonly namespace: string | null;
  readonly queues: readonly string[];
}

interface Headers {
  readonly header: (name: string) => string | null;
}

/** Throws TOKEN_REQUIRED or NOT_ALLOWED. Answers synchronously, unless the token must be read. */
export type Authenticator = (call: Headers, request: Message) => Caller | Promise<Caller>;

export interface Identity {
  authenticatorOf(method: DescMethod): Authenticator;
  /** The caller, if its token may see what a viewer of every namespace sees. For pages. */
  mayWatch(call: Headers): Promise<Caller>;
  /** Called when a token was revoked on this server: no cached token is trusted any more. */
  forget(): void;
}

const BEARER = /^Bearer +(drover_[A-Za-z0-9_-]{43})$/i;
const WATCHING: Permission = { roles: ["viewer", "operator", "admin"], scope: "control-plane" };

export function createIdentity(tokens: Pick<Tokens, "find" | "noteUse">, clock: Clock): Identity {
  const known = createKnownTokens(tokens, clock);

  function holderOf({ header }: Headers): HeldToken | Promise<HeldToken> {
    const credentials = header("authorization");
    if (credentials === null) throw unidentified("missing", "The call has no API token");
    const secret = BEARER.exec(credentials)?.[1];
    if (secret === undefined)
      throw unidentified("malformed", "The call's authorization is no API token of Drover");
    const found = known.find(apiTokenDigest(secret));
    return found instanceof Promise ? found.then(validToken) : validToken(found);
  }

  function validToken(token: HeldToken | null): HeldToken {
    if (token === null) throw unidentified("unknown", "The API token of the call is not known");
    if (token.revoked) throw unidentified("revoked", `The API token "${token.name}" is revoked`);
    if (token.goodUntil !== null && token.goodUntil <= clock.monotonicMs())
      throw unidentified("expired", `The API token "${token.name}" has expired`);
    return token;
  }

  function authenticating(what: string, permission: Permission, about: ScopeCheck): Authenticator {
    const authorize = (token: HeldToken, request: Message): Caller => {
      if (!permission.roles.includes(token.role)) throw wrongRole(token, what, permission);
      about(token, request);
      return token;
    };
    return (call, request) => {
      const token = holderOf(call);
      if (token instanceof Promise) return token.then((held) => authorize(held, request));
      return authorize(token, request);
    };
  }

  return Object.freeze({
    authenticatorOf(method) {
      const permission = PERMISSIONS.get(fullNameOf(method));
      if (!permission) throw new Error(`${fullNameOf(method)} is missing in api/auth/roles.ts`);
      return authenticating(method.name, permission, aboutOf(method, permission));
    },
    mayWatch: async (call) => {
      const token = await holderOf(call);
      if (!WATCHING.roles.includes(token.role)) throw wrongRole(token, "this page", WATCHING);
      everyNamespace(token);
      return token;
    },
    forget: known.forget,
  } satisfies Identity);
}

/** Throws NOT_ALLOWED if the token does not cover what the request is about. */
type ScopeCheck = (token: Caller, request: Message) => void;

function aboutOf(method: DescMethod, { scope }: Permission): ScopeCheck {
  switch (scope) {
    case "own":
      return () => {};
    case "control-plane":
      return everyNamespace;
    case "callback":
      return (token, request) => {
        if (!isMessage(request, CompleteDeferredRequestSchema))
          throw new Error(`${method.name} has no callback token`);
        if (token.namespace !== null)
          sameNamespace(token, callbackTokenFrom(request.callbackToken).namespace);
      };
    case "namespace":
      if (!method.input.fields.some(({ localName }) => localName === "namespace"))
        throw new Error(
          `${fullNameOf(method)} has no namespace field: name its resource another way`,
        );
      return (token, request) => {
        if (token.namespace !== null) sameNamespace(token, namespaceOf(request));
        if (token.queues.length > 0) ownQueues(token, request);
      };
  }
}

function namespaceOf(request: Message): string {
  return "namespace" in request ? String(request.namespace) : "";
}

/** Throws NOT_ALLOWED for a token of one namespace. */
export function everyNamespace(token: Caller): void {
  if (token.namespace === null) return;
  throw notAllowed(
    token,
    `is for the namespace "${token.namespace}" alone, and this concerns all of them`,
    "a token for every namespace",
  );
}

function sameNamespace(token: Caller, named: string): void {
  const namespace = named === "" ? DEFAULT_NAMESPACE : named;
  if (token.namespace === null || token.namespace === namespace) return;
  throw notAllowed(
    token,
    `is for the namespace "${token.namespace}", and the call names "${namespace}"`,
    `a token for the namespace ${namespace}`,
  );
}

function ownQueues(token: Caller, request: Message): void {
  for (const queue of polledBy(request))
    if (!token.queues.includes(queue))
      throw notAllowed(
        token,
        `may poll ${token.queues.join(", ")}, and the call names the queue "${queue}"`,
        `a token for the queue ${queue}`,
      );
}

function polledBy(request: Message): readonly string[] {
  const poll = isMessage(request, CompleteRequestSchema) ? request.next : request;
  const isPoll = isMessage(poll, PollTaskRequestSchema) || isMessage(poll, NextSchema);
  return isPoll ? queuesFrom(poll.queues).map(({ name }) => name) : [];
}

function wrongRole(token: Caller, what: string, { roles }: Permission): DroverError {
  const one = roles.length > 1 ? `one of the roles ${roles.join(", ")}` : `the role ${roles[0]}`;
  return notAllowed(token, `has the role "${token.role}", and ${what} takes ${one}`, one);
}

function notAllowed({ name, role }: Caller, why: string, needs: string): DroverError {
  return new DroverError(
    "NOT_ALLOWED",
    `The API token "${name}" ${why}: use another one (drover token list shows them to admins).`,
    { metadata: { token: name, role, needs } },
  );
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
