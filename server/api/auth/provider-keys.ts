// The keys of an OpenID provider, which verify its JWT: a JWKS at a URL, or in a file.
//
//   read → fresh (10 min) → used, while it is read again in the background → after an hour not used
//
// Promise: tokens cost the provider nothing. A JWT of an unknown key has the JWKS read again, but
// not within COOLDOWN_MS of the last time, and after a failure not within RETRY_MS. A provider that
// cannot be reached refuses no JWT whose key is known, until an hour has passed.
import { readFileSync } from "node:fs";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { type OidcConfig, problemOfUrl } from "../../identity-config.ts";

const FRESH_MS = 600_000;
const TRUSTED_MS = 3_600_000;
const COOLDOWN_MS = 30_000;
const RETRY_MS = 1_000;
const ANSWER_MS_MAX = 5_000;
/** A file is read again when it is older than this: reading one costs little. */
const FILE_FRESH_MS = 10_000;

/** The keys could not be read, so nothing is known about the JWT. */
export class KeysUnavailable extends Error {}

/** Throws an error with a sentence for a person if a file of keys cannot be used. */
export function createProviderKeys(
  config: Pick<OidcConfig, "issuer" | "jwks">,
  clock: Clock,
): JWTVerifyGetKey {
  const { jwks } = config;
  if (jwks !== null && !jwks.includes("://")) return keysOfFile(jwks, clock);
  const fetchKeys = createFetch(clock);
  const open = (url: string) =>
    createRemoteJWKSet(new URL(url), {
      cooldownDuration: COOLDOWN_MS,
      cacheMaxAge: TRUSTED_MS,
      timeoutDuration: ANSWER_MS_MAX,
      [customFetch]: fetchKeys,
    });
  let opening: Promise<ReturnType<typeof open>> | null = null;
  const opened = async () => {
    try {
      return open(jwks ?? (await discoveredUrl(config.issuer, fetchKeys, clock)));
    } catch (error) {
      opening = null;
      throw error;
    }
  };
  let readAt = Number.NEGATIVE_INFINITY;
  return async (header, token) => {
    opening ??= opened();
    const keys = await opening;
    const now = clock.monotonicMs();
    if (keys.fresh && now - readAt > FRESH_MS) {
      // The first use has just read them.
      if (readAt !== Number.NEGATIVE_INFINITY) keys.reload().catch(() => undefined);
      readAt = now;
    }
    return await keys(header, token).catch((error: unknown) => {
      throw isOfToken(error) ? error : new KeysUnavailable(errorMessage(error));
    });
  };
}

/** There is no such key in the set, or it is not for this JWT. */
function isOfToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Answers 200 or throws; for a while after a failure it throws without a request. */
function createFetch(clock: Clock): Fetch {
  let failure: { readonly error: KeysUnavailable; readonly untilMs: number } | null = null;
  return async (url, init) => {
    if (failure !== null && clock.monotonicMs() < failure.untilMs) throw failure.error;
    try {
      const response = await fetch(url, init);
      if (response.status !== 200) throw new Error(`it answered ${response.status}`);
      failure = null;
      return response;
    } catch (thrown) {
      const cause =
        thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
      const error = new KeysUnavailable(`${url}: ${errorMessage(cause)}`);
      failure = { error, untilMs: clock.monotonicMs() + RETRY_MS };
      throw error;
    }
  };
}

/** As OpenID Connect Discovery 1.0 says: the configuration must name the issuer itself. */
async function discoveredUrl(issuer: string, get: Fetch, clock: Clock): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const over = new AbortController();
  const timer = clock.after(ANSWER_MS_MAX, () => over.abort(new Error("it does not answer")));
  const found = await get(url, { signal: over.signal, redirect: "manual" })
    .then((response): Promise<unknown> => response.json().catch(() => null))
    .finally(() => timer.cancel());
  const { issuer: named, jwks_uri: keys } = isObject(found) ? found : {};
  if (named !== issuer)
    throw new KeysUnavailable(`${url} is of the issuer ${JSON.stringify(named)}`);
  const problem = typeof keys === "string" ? problemOfUrl("its jwks_uri", keys) : "no jwks_uri";
  if (typeof keys !== "string" || problem !== null)
    throw new KeysUnavailable(`${url}: ${problem ?? ""}`);
  return keys;
}

function keysOfFile(file: string, clock: Clock): JWTVerifyGetKey {
  let keys = keysIn(file);
  let readAt = clock.monotonicMs();
  return (header, token) => {
    if (clock.monotonicMs() - readAt > FILE_FRESH_MS) {
      try {
        keys = keysIn(file);
      } catch {
        // A file that is being replaced: the keys before stay in place.
      }
      readAt = clock.monotonicMs();
    }
    return keys(header, token);
  };
}

function keysIn(file: string): JWTVerifyGetKey {
  try {
    const read: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isKeySet(read)) throw new Error('it must be {"keys": [...]}');
    return createLocalJWKSet(read);
  } catch (error) {
    throw new Error(`The keys of --oidc-jwks cannot be read from ${file}: ${errorMessage(error)}`);
  }
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
