// An OpenID provider on this machine, as far as a server needs one: its configuration, its keys,
// and tokens signed by them.
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTPayload,
  SignJWT,
} from "jose";
import { type ReceiverAnswer, startReceiver } from "./receiver.ts";

const AUDIENCE = "drover";
const CONFIGURATION = "/.well-known/openid-configuration";
const JWKS = "/keys";

export interface ProviderKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export interface IdentityProvider {
  readonly issuer: string;
  readonly audience: string;
  /** Signs with the newest key, unless another one is given. Times are seconds from now. */
  sign(claims: JWTPayload, wish?: Wish): Promise<string>;
  /** A key that is not published. */
  newKey(kid: string): Promise<ProviderKey>;
  /** Publishes this key instead of the one before. */
  publish(key: ProviderKey): Promise<void>;
  readonly keys: JSONWebKeySet;
  /** How often the keys were read. */
  readonly keysRead: () => number;
  /** What it answers instead; null: what it should. */
  broken: ReceiverAnswer | null;
  close(): Promise<void>;
}

interface Wish {
  readonly key?: ProviderKey;
  readonly issuer?: string;
  readonly audience?: string;
  readonly expiresIn?: number;
  readonly notBefore?: number;
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  let newest = await newKey("key-1");
  let keys = await setOf(newest);
  const receiver = await startReceiver(({ path }) => {
    if (provider.broken !== null) return provider.broken;
    const answers: Readonly<Record<string, unknown>> = {
      [CONFIGURATION]: { issuer: receiver.url, jwks_uri: `${receiver.url}${JWKS}` },
      [JWKS]: keys,
    };
    const body = answers[path];
    return body === undefined ? { status: 404 } : { status: 200, body: JSON.stringify(body) };
  });
  const provider: IdentityProvider = {
    issuer: receiver.url,
    audience: AUDIENCE,
    async sign(claims, wish = {}) {
      const { key = newest, issuer = receiver.url, audience = AUDIENCE } = wish;
      const now = Math.floor(Date.now() / 1_000);
      return await new SignJWT({ iss: issuer, aud: audience, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: key.kid })
        .setNotBefore(now + (wish.notBefore ?? 0))
        .setExpirationTime(now + (wish.expiresIn ?? 300))
        .sign(key.privateKey);
    },
    newKey,
    async publish(key) {
      newest = key;
      keys = await setOf(key);
    },
    get keys() {
      return keys;
    },
    keysRead: () => receiver.received.filter(({ path }) => path === JWKS).length,
    broken: null,
    close: () => receiver.close(),
  };
  return provider;
}

async function newKey(kid: string): Promise<ProviderKey> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  return { kid, privateKey, publicKey };
}

async function setOf({ kid, publicKey }: ProviderKey): Promise<JSONWebKeySet> {
  return { keys: [{ ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" }] };
}
