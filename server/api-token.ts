// API tokens as they are shown: `drover_` and 256 random bits in base64url. Servers keep the
// SHA-256 of the text alone. It needs no salt and no slow hash: those protect secrets that people
// choose, and 256 random bits are not guessed, however quick a guess is.
import { hash } from "node:crypto";
import type { Random } from "./clock.ts";

const SECRET_BYTES = 32;
const ID_DIGITS = 16;

export interface ApiToken {
  /** What its holder shows. It is kept nowhere. */
  readonly secret: string;
  readonly digest: string;
  /** Names it in calls and logs. */
  readonly id: string;
}

export function newApiToken(random: Random): ApiToken {
  const secret = `drover_${Buffer.from(random.bytes(SECRET_BYTES)).toString("base64url")}`;
  const digest = apiTokenDigest(secret);
  return { secret, digest, id: digest.slice(0, ID_DIGITS) };
}

/** Hex. */
export function apiTokenDigest(secret: string): string {
  return hash("sha256", secret);
}
