// API tokens: who may call a server that asks for them. Of the secret there is only its digest.
//
//   living → over (revoked, or its time has passed) → forgotten a year later
import type { EpochMs } from "../core/attempt.ts";

/** What a token lets its holder do; the table of all calls is the edge's. */
export type Role = (typeof ROLE_NAMES)[number];
export const ROLE_NAMES = ["viewer", "client", "agent", "operator", "admin"] as const;

/** Kept so long after their end, in milliseconds: 365 days. */
export const TOKEN_RETENTION_MS = 365 * 86_400_000;
/** That a token was shown is noted this often at most. */
export const USE_NOTED_MS = 60_000;

export interface NewToken {
  /** The first 16 digits of the digest. */
  readonly id: string;
  /** SHA-256 of the token, hex. */
  readonly digest: string;
  readonly name: string;
  readonly role: Role;
  /** null: every namespace. */
  readonly namespaceId: number | null;
  /** Those that an agent may poll; empty: all. */
  readonly queues: readonly string[];
  readonly madeBy: string;
  /** How long it is good for, in milliseconds; null: until it is revoked. */
  readonly validMs: number | null;
}

export interface TokenRecord extends Omit<NewToken, "digest" | "validMs" | "namespaceId"> {
  /** null: every namespace. */
  readonly namespace: string | null;
  readonly madeAt: EpochMs;
  /** null: never, as of the others. */
  readonly expiresAt: EpochMs | null;
  readonly usedAt: EpochMs | null;
  readonly revokedAt: EpochMs | null;
  readonly revokedBy: string | null;
}

/** What a call is evaluated by. */
export interface KnownToken extends Pick<TokenRecord, "id" | "name" | "role" | "queues"> {
  readonly digest: string;
  /** null: every namespace. */
  readonly namespace: string | null;
  /** How long it is still good, in milliseconds by the database's clock; null: no end is set. */
  readonly leftMs: number | null;
  readonly revoked: boolean;
  /** Nobody has noted for `USE_NOTED_MS` that it was shown. */
  readonly useUnnoted: boolean;
}

export interface TokenPage {
  /** null: those of every namespace, and those for all. */
  readonly namespaceId: number | null;
  /** Also those that are over. */
  readonly ended: boolean;
  /** The last id of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

export interface Tokens {
  /** Forgets those whose end is long past, too. */
  create(token: NewToken): Promise<TokenRecord>;
  /** By id. */
  list(page: TokenPage): Promise<readonly TokenRecord[]>;
  /**
   * null: there is none of this id, or it is not for this namespace (null: whatever it is for). One
   * that is revoked stays as it is.
   */
  revoke(id: string, by: string, namespaceId: number | null): Promise<TokenRecord | null>;
  /** Those that have these digests, living or not. */
  find(digests: readonly string[]): Promise<readonly KnownToken[]>;
  /** Notes that they were shown. */
  noteUse(ids: readonly string[]): Promise<void>;
}
