// API tokens: create, list and revoke them. The secret is in one answer and nowhere else.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  type CreateTokenRequest,
  type ListTokensRequest,
  Role as RoleMessage,
  type TokenSchema,
} from "@drover/proto/drover/v1/token_pb.ts";
import type { Random } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import { type AuditEntry, EVERY_NAMESPACE } from "../../store/audit.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import { type NewToken, ROLE_NAMES, type Role, type TokenRecord } from "../../store/tokens.ts";
import { newApiToken } from "../auth/api-token.ts";
import { everyNamespace, type Identity } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";
import { provenName } from "../auth/proven-name.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers, Log } from "../calls/mount.ts";
import { existing, type Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";

interface TokenCallDeps {
  readonly store: Pick<OperatorStore, "tokens">;
  readonly namespaces: Namespaces;
  readonly random: Random;
  readonly log: Log;
  /** Left out: the server requires no tokens. */
  readonly identity?: Pick<Identity, "forget"> | undefined;
}

type TokenCalls = "createToken" | "listTokens" | "revokeToken";

/** The roles as the API names them. */
export const ROLES: Readonly<Record<Role, RoleMessage>> = Object.freeze({
  viewer: RoleMessage.VIEWER,
  client: RoleMessage.CLIENT,
  agent: RoleMessage.AGENT,
  operator: RoleMessage.OPERATOR,
  admin: RoleMessage.ADMIN,
});
/** Roles whose tokens may be for every namespace. */
const EVERYWHERE: readonly Role[] = ["viewer", "operator", "admin"];

export function createTokenCalls(
  deps: TokenCallDeps,
): Pick<Handlers<typeof OperatorService>, TokenCalls> {
  const { store, namespaces, random, log } = deps;

  /** null: all namespaces. */
  async function namespaceIdOf(
    request: Pick<CreateTokenRequest | ListTokensRequest, "allNamespaces" | "namespace">,
    caller: Caller | null,
  ): Promise<number | null> {
    if (!request.allNamespaces) return (await namespaces.find(request.namespace)).id;
    if (request.namespace !== "") {
      const message = "means nothing with all_namespaces: leave one of them out";
      throw refusal("INVALID_REQUEST", [{ path: "namespace", message }]);
    }
    if (caller) everyNamespace(caller);
    return null;
  }

  return {
    async createToken(request, who) {
      const { caller } = who;
      const role = roleFrom(request);
      const namespaceId = await namespaceIdOf(request, caller);
      const { secret, id, digest } = newApiToken(random);
      const { name, queues, validFor } = request;
      const validMs = validFor ? durationMs(validFor) : null;
      const madeBy = statedBy(request.by, caller);
      const made = { id, digest, name, role, namespaceId, queues, madeBy, validMs };
      const entry = madeEntry(who, made, request.by);
      const token = await store.tokens.create(made, entry);
      log.info({ event: "token-made", token: id, name, role, by: madeBy }, "an API token was made");
      return { token: tokenMessage(token), secret };
    },
    async listTokens(request, { caller }) {
      const namespaceId = await namespaceIdOf(request, caller);
      const { includeEnded: ended, pageToken } = request;
      const list = `tokens ${namespaceId} ${ended}`;
      const page = pageOf(list, request.pageSize);
      const after = parsePageToken(list, pageToken, (id) => /^[0-9a-f]{16}$/.test(id));
      const limit = page.limit + 1;
      const rows = await store.tokens.list({ namespaceId, ended, after, limit });
      return {
        tokens: rows.slice(0, page.limit).map(tokenMessage),
        nextPageToken: page.nextToken(rows, ({ id }) => id),
      };
    },
    async revokeToken(request, who) {
      const { caller } = who;
      const { id } = request;
      const by = statedBy(request.by, caller);
      const entry = auditEntry(who, {
        action: "token.revoke",
        // The statement gives it the namespace of the token.
        namespaceId: EVERY_NAMESPACE,
        subject: ["token", id],
        by: request.by,
      });
      const token = await revokeIn(deps, caller?.namespaces ?? null, { id, by, entry });
      if (token === null) throw unknownToken(id);
      deps.identity?.forget();
      log.info({ event: "token-revoked", token: id, by }, "an API token was revoked");
      return { token: tokenMessage(token) };
    },
  };
}

/** `names`: only a token of one of these namespaces; null: of any. */
async function revokeIn(
  { store, namespaces }: TokenCallDeps,
  names: readonly string[] | null,
  { id, by, entry }: { readonly id: string; readonly by: string; readonly entry: AuditEntry },
): Promise<TokenRecord | null> {
  if (names === null) return store.tokens.revoke(id, by, null, entry);
  for (const { id: own } of await existing(namespaces, names)) {
    const token = await store.tokens.revoke(id, by, own, entry);
    if (token !== null) return token;
  }
  return null;
}

function madeEntry(
  who: Who,
  { id, name, role, queues, validMs, namespaceId }: NewToken,
  by: string,
): AuditEntry {
  return auditEntry(who, {
    action: "token.create",
    namespaceId: namespaceId ?? EVERY_NAMESPACE,
    subject: ["token", id],
    by,
    details: {
      name,
      role,
      ...(queues.length > 0 ? { queues } : {}),
      ...(validMs === null ? {} : { valid_ms: validMs }),
    },
  });
}

/** The name that the caller proves, or states with the token that was authenticated. */
function statedBy(by: string, caller: Caller | null): string {
  if (caller === null || provenName(caller) !== null) return by;
  return `${by}, with the token ${caller.name}`;
}

function roleFrom({ role, queues, allNamespaces }: CreateTokenRequest): Role {
  const named = ROLE_NAMES.find((name) => ROLES[name] === role);
  if (named === undefined) throw new Error("a token without a role has passed the rules");
  if (queues.length > 0 && named !== "agent") {
    const message = `are for agents: a token of the role "${named}" has none`;
    throw refusal("INVALID_REQUEST", [{ path: "queues", message }]);
  }
  if (allNamespaces && !EVERYWHERE.includes(named)) {
    const message = `a token of the role "${named}" is for one namespace: name it`;
    throw refusal("INVALID_REQUEST", [{ path: "all_namespaces", message }]);
  }
  return named;
}

function unknownToken(id: string): DroverError {
  return new DroverError(
    "TOKEN_NOT_FOUND",
    `There is no API token "${id}" that you may revoke: ListTokens shows those that there are.`,
    { metadata: { name: id } },
  );
}

function tokenMessage(token: TokenRecord): MessageInitShape<typeof TokenSchema> {
  const { id, name, role, namespace, queues, madeBy, madeAt, revokedBy } = token;
  return {
    id,
    name,
    role: ROLES[role],
    namespace: namespace ?? "",
    queues: [...queues],
    madeBy,
    makeTime: timestampFromMs(madeAt),
    ...timeField("expireTime", token.expiresAt),
    ...timeField("lastUseTime", token.usedAt),
    ...timeField("revokeTime", token.revokedAt),
    revokedBy: revokedBy ?? "",
  };
}
