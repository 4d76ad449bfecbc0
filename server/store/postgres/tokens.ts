// API tokens on PostgreSQL.
import type { EpochMs } from "../../core/model/attempt.ts";
import { EVERY_NAMESPACE } from "../audit.ts";
import {
  type Role,
  TOKEN_RETENTION_MS,
  type TokenRecord,
  type Tokens,
  USE_INTERVAL_MS,
} from "../tokens.ts";
import type { Audited } from "./audit.ts";
import type { Query } from "./transaction.ts";

export function createTokens(query: Query, audited: Audited): Tokens {
  const one = async (id: string, namespaceId: number | null): Promise<TokenRecord | null> => {
    const [row] = await query<TokenRow>("list_tokens", {
      namespace_id: namespaceId,
      ended: true,
      after: null,
      limit: 1,
      id,
    });
    return row ? recordOf(row) : null;
  };
  return Object.freeze({
    async create({ id, digest, name, role, namespaceId, queues, madeBy, validMs }, audit = null) {
      const values = {
        id,
        digest,
        name,
        role,
        namespace_id: namespaceId,
        queues,
        made_by: madeBy,
        valid: validMs,
      };
      await audited(audit, "create_token", { ...values, retention: TOKEN_RETENTION_MS });
      const made = await one(id, null);
      if (!made) throw new Error(`token ${id} was made and is not there`);
      return made;
    },
    async list({ namespaceId, ended, after, limit }) {
      const asked = { namespace_id: namespaceId, ended, after, limit, id: null };
      return (await query<TokenRow>("list_tokens", asked)).map(recordOf);
    },
    async revoke(id, by, namespaceId, audit = null) {
      const asked = { id, by, namespace_id: namespaceId };
      await audited<RevokedRow>(audit, "revoke_token", asked, (entry, [row]) =>
        row === undefined
          ? null
          : {
              ...entry,
              namespaceId: row.namespace_id ?? EVERY_NAMESPACE,
              details: { name: row.name },
            },
      );
      return one(id, namespaceId);
    },
    async find(digests) {
      const rows = await query<KnownRow>("find_tokens", { digests, interval_ms: USE_INTERVAL_MS });
      return rows.map(({ left_ms: leftMs, use_is_stale: useIsStale, ...row }) => {
        return { ...row, leftMs, useIsStale };
      });
    },
    async noteUse(ids) {
      await query("note_token_use", { ids, interval_ms: USE_INTERVAL_MS });
    },
  } satisfies Tokens);
}

interface KnownRow {
  digest: string;
  id: string;
  name: string;
  role: Role;
  queues: string[];
  namespace: string | null;
  left_ms: number | null;
  revoked: boolean;
  use_is_stale: boolean;
}

interface RevokedRow {
  name: string;
  namespace_id: number | null;
}

interface TokenRow {
  id: string;
  name: string;
  role: Role;
  namespace: string | null;
  queues: string[];
  made_by: string;
  made_at: EpochMs;
  expires_at: EpochMs | null;
  used_at: EpochMs | null;
  revoked_at: EpochMs | null;
  revoked_by: string | null;
}

function recordOf(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    namespace: row.namespace,
    queues: row.queues,
    madeBy: row.made_by,
    madeAt: row.made_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
    revokedAt: row.revoked_at,
    revokedBy: row.revoked_by,
  };
}
