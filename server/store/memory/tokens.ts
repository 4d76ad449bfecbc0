// API tokens in memory, as the .sql statements of the same names do.
import type { Moment } from "../../core/attempt.ts";
import type { Namespace } from "../store.ts";
import {
  type KnownToken,
  type NewToken,
  TOKENS_KEPT_MS,
  type TokenRecord,
  type Tokens,
  USE_NOTED_MS,
} from "../tokens.ts";
import { createTable, type Table } from "./table.ts";
import type { Tables } from "./tables.ts";
import type { Journal, Transactions } from "./transactions.ts";

export interface TokenRow extends Omit<NewToken, "validMs">, Omit<TokenRecord, "namespace"> {}

export interface TokenTables {
  readonly token: Table<TokenRow, "digest">;
}

export function createTablesOfTokens(journal: Journal): TokenTables {
  return {
    token: createTable<TokenRow, "digest">(journal, {
      name: "api_token",
      key: (row) => row.id,
      indexes: { digest: (row) => row.digest },
    }),
  };
}

export interface TokenWorld {
  readonly tables: Tables;
  readonly now: () => Moment;
  readonly namespaceOf: (id: number) => Namespace;
}

export function createTokens(
  { tables, now, namespaceOf }: TokenWorld,
  { run }: Transactions,
): Tokens {
  const nameOf = (id: number | null) => (id === null ? null : namespaceOf(id).name);
  const recordOf = ({ digest: _, namespaceId, ...row }: TokenRow): TokenRecord => {
    return { ...row, namespace: nameOf(namespaceId) };
  };
  const isUnnoted = ({ usedAt }: TokenRow) => usedAt === null || usedAt < now() - USE_NOTED_MS;
  const isOf = (row: TokenRow, namespaceId: number | null) =>
    namespaceId === null || row.namespaceId === namespaceId;

  function create({ validMs, ...said }: NewToken): TokenRecord {
    for (const row of tables.token.all())
      if (endOf(row) < now() - TOKENS_KEPT_MS) tables.token.removeRow(row);
    const expiresAt = validMs === null ? null : now() + validMs;
    const none = { usedAt: null, revokedAt: null, revokedBy: null };
    const row = { ...said, ...none, madeAt: now(), expiresAt };
    tables.token.insert(row);
    return recordOf(row);
  }

  function revoke(id: string, by: string, namespaceId: number | null): TokenRecord | null {
    const row = tables.token.get(id);
    if (!row || !isOf(row, namespaceId)) return null;
    const after = row.revokedAt === null ? { ...row, revokedAt: now(), revokedBy: by } : row;
    tables.token.put(after);
    return recordOf(after);
  }

  function knownOf(row: TokenRow): KnownToken {
    const { digest, id, name, role, queues, namespaceId, expiresAt, revokedAt } = row;
    const leftMs = expiresAt === null ? null : expiresAt - now();
    const judged = { leftMs, revoked: revokedAt !== null, useUnnoted: isUnnoted(row) };
    return { ...{ digest, id, name, role, queues }, namespace: nameOf(namespaceId), ...judged };
  }

  return Object.freeze({
    create: (token) => run(() => create(token)),
    list: ({ namespaceId, ended, after, limit }) =>
      run(() =>
        tables.token
          .all()
          .filter((row) => isOf(row, namespaceId) && (ended || endOf(row) > now()))
          .filter(({ id }) => after === null || id > after)
          .sort((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, limit)
          .map(recordOf),
      ),
    revoke: (id, by, namespaceId) => run(() => revoke(id, by, namespaceId)),
    find: (digests) =>
      run(() => digests.flatMap((digest) => tables.token.where("digest", digest)).map(knownOf)),
    noteUse: (ids) =>
      run(() => {
        for (const id of ids) {
          const row = tables.token.get(id);
          if (row && isUnnoted(row)) tables.token.put({ ...row, usedAt: now() });
        }
      }),
  } satisfies Tokens);
}

function endOf({ expiresAt, revokedAt }: TokenRow): Moment {
  return Math.min(expiresAt ?? Number.POSITIVE_INFINITY, revokedAt ?? Number.POSITIVE_INFINITY);
}
