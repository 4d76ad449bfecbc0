// API tokens: `drover_` and 256 random bits in base64url. A server stores only the SHA-256 of the
// text. It needs no salt and no slow hash: those protect secrets that people choose, and 256 random
// bits cannot be guessed, however fast a guess is.
import { hash } from "node:crypto";
import type { Random } from "../../clock.ts";

const SECRET_BYTES = 32;
const ID_DIGITS = 16;

interface ApiToken {
  /** The text that its holder presents. It is stored nowhere. */
  readonly secret: string;
  readonly digest: string;
  /** Names the token in calls and logs. */
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
