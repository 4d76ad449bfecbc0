// API tokens: who may call a server that requires them. Of the secret only the digest is stored.
//
//   valid → ended (revoked or expired) → deleted a year later
import type { EpochMs } from "../core/model/attempt.ts";
import type { Audit } from "./audit.ts";

/** What a token lets its holder do; api/auth/roles.ts says which calls that is. */
export type Role = (typeof ROLE_NAMES)[number];
export const ROLE_NAMES = ["viewer", "client", "agent", "operator", "admin"] as const;

/** How long tokens are retained after their end, in milliseconds: 365 days. */
export const TOKEN_RETENTION_MS = 365 * 86_400_000;
/** The use of a token is recorded this often at most, in milliseconds. */
export const USE_INTERVAL_MS = 60_000;

export interface NewToken {
  /** The first 16 digits of the digest. */
  readonly id: string;
  /** SHA-256 of the token, hex. */
  readonly digest: string;
  readonly name: string;
  readonly role: Role;
  /** null: every namespace. */
  readonly namespaceId: number | null;
  /** Queues that an agent may poll; empty: all. */
  readonly queues: readonly string[];
  readonly madeBy: string;
  /** How long it is valid, in milliseconds; null: until it is revoked. */
  readonly validMs: number | null;
}

export interface TokenRecord extends Omit<NewToken, "digest" | "validMs" | "namespaceId"> {
  /** null: every namespace. */
  readonly namespace: string | null;
  readonly madeAt: EpochMs;
  /** null, here and below: never. */
  readonly expiresAt: EpochMs | null;
  readonly usedAt: EpochMs | null;
  readonly revokedAt: EpochMs | null;
  readonly revokedBy: string | null;
}

/** What a call is authorized by. */
export interface KnownToken extends Pick<TokenRecord, "id" | "name" | "role" | "queues"> {
  readonly digest: string;
  /** null: every namespace. */
  readonly namespace: string | null;
  /** How long it is still valid, in milliseconds by the database's clock; null: no end is set. */
  readonly leftMs: number | null;
  readonly revoked: boolean;
  /** No use has been recorded for `USE_INTERVAL_MS`. */
  readonly useIsStale: boolean;
}

interface TokenPage {
  /** null: tokens of every namespace, and those for all namespaces. */
  readonly namespaceId: number | null;
  /** Also tokens that have ended. */
  readonly ended: boolean;
  /** The last id of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

export interface Tokens {
  /** Also deletes tokens that ended long ago. */
  create(token: NewToken, audit?: Audit): Promise<TokenRecord>;
  /** By id. */
  list(page: TokenPage): Promise<readonly TokenRecord[]>;
  /**
   * null: there is no token of this id, or it is not for this namespace (`namespaceId` null: any
   * namespace). A token that is revoked already stays as it is. The entry of the audit gets the
   * namespace of the token.
   */
  revoke(
    id: string,
    by: string,
    namespaceId: number | null,
    audit?: Audit,
  ): Promise<TokenRecord | null>;
  /** Tokens with these digests, valid or ended. */
  find(digests: readonly string[]): Promise<readonly KnownToken[]>;
  /** Records that they were used. */
  noteUse(ids: readonly string[]): Promise<void>;
}
