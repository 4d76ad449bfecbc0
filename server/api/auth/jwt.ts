// Verifies a JWT of the OpenID provider: its signature by a key of the provider, its issuer, its
// audience, and its times by the clock of the server. Algorithms with a shared secret, and `none`,
// are refused before a key is looked up.
import { errors, jwtVerify } from "jose";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { OidcConfig } from "../../identity-config.ts";
import type { Caller } from "./caller.ts";
import { type Claims, callerOfClaims } from "./claims.ts";
import { createProviderKeys, KeysUnavailable } from "./provider-keys.ts";

/** All asymmetric ones of JWS. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
/** The clocks of server and provider may differ. */
const LEEWAY_SECONDS = 30;

/** `refused`: why, in one word, and as the beginning of a sentence. */
type VerifiedJwt =
  | { readonly kind: "caller"; readonly caller: Caller }
  | { readonly kind: "refused"; readonly why: string; readonly problem: string };

/** Throws NOT_ALLOWED for a JWT without a role, and KEYS_UNAVAILABLE. */
export type VerifyJwt = (jwt: string) => Promise<VerifiedJwt>;

export function createJwtVerifier(config: OidcConfig, clock: Clock): VerifyJwt {
  const { issuer, clientId } = config;
  // The dashboard sends the ID token, whose audience is the client.
  const audience = [config.audience, ...(clientId === null ? [] : [clientId])];
  const keys = createProviderKeys(config, clock);
  return async (jwt) => {
    let claims: Claims;
    try {
      const verified = await jwtVerify(jwt, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(clock.wallMs()),
        requiredClaims: ["exp"],
      });
      claims = verified.payload;
    } catch (error) {
      return refusalOf(error);
    }
    const caller = callerOfClaims(claims, config);
    if (caller === null) return refused("unnamed", "has no claim with a name");
    const { role } = caller;
    if (role === null) throw withoutRole(caller.name, config);
    return { kind: "caller", caller: { ...caller, role } };
  };
}

/** What is said about claims is said only after the signature was verified. */
function refusalOf(error: unknown): VerifiedJwt {
  if (error instanceof KeysUnavailable) throw keysUnavailable(error);
  if (error instanceof errors.JWTExpired) return refused("expired", "has expired");
  if (error instanceof errors.JWTClaimValidationFailed)
    switch (error.claim) {
      case "nbf":
        return refused("early", "is not valid yet");
      case "aud":
        return refused("audience", "is for another audience");
      case "iss":
        return refused("issuer", "is of another issuer");
      default:
        return refused("claims", `has no valid claim "${error.claim}"`);
    }
  if (error instanceof errors.JOSEError) return refused("invalid", "is not valid");
  throw error;
}

function refused(why: string, problem: string): VerifiedJwt {
  return { kind: "refused", why, problem: `The JWT of the call ${problem}` };
}

function withoutRole(name: string, { rolesClaim }: OidcConfig): DroverError {
  return new DroverError(
    "NOT_ALLOWED",
    `The JWT of "${name}" names no role of Drover in its claim "${rolesClaim}": give the person one at the identity provider.`,
    { metadata: { token: name, role: "", needs: `a role in the claim ${rolesClaim}` } },
  );
}

function keysUnavailable(cause: KeysUnavailable): DroverError {
  return new DroverError(
    "KEYS_UNAVAILABLE",
    "The keys of the identity provider cannot be read, so the JWT of the call cannot be verified: repeat the call later, or use an API token.",
    { cause },
  );
}
