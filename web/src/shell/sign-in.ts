// Sign-in of a person at the identity provider that the server names: OpenID Connect, authorization
// code with PKCE, as a public client (RFC 9700). The ID token is then the token of this tab; it and
// the refresh token are kept until the tab is closed.
import * as oauth from "oauth4webapi";
import { SIGN_IN_PATH } from "../routes.ts";
import { keepSignIn, type SignIn, signedIn } from "./session.ts";

/** What /sign-in.json says. */
interface Provider {
  readonly issuer: URL;
  readonly client: oauth.Client;
  readonly scope: string;
  /** Which claim of the ID token is the person's name, as a dotted path; "": email, else sub. */
  readonly nameClaim: string;
}

/** Kept while the person is at the provider. */
interface PendingSignIn {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** Where in the dashboard to go afterwards. */
  readonly returnTo: string;
}

const PENDING = "drover.sign-in-pending";
/** A token is replaced this long before its end. */
const AHEAD_MS = 60_000;

let failure = "";

/** Why the last sign-in did not succeed; "": it did, or there was none. */
export function signInFailure(): string {
  return failure;
}

let asked: Promise<Provider | null> | null = null;

/** null: this server has no identity provider, and takes API tokens alone. */
export function identityProvider(): Promise<Provider | null> {
  asked ??= askProvider();
  return asked;
}

async function askProvider(): Promise<Provider | null> {
  const answer = await fetch("/sign-in.json");
  const found: unknown = answer.ok ? await answer.json() : {};
  const issuer = textAt(found, "issuer");
  const clientId = textAt(found, "clientId");
  if (issuer === "" || clientId === "") return null;
  return {
    issuer: new URL(issuer),
    client: { client_id: clientId },
    scope: textAt(found, "scope"),
    nameClaim: textAt(found, "nameClaim"),
  };
}

function textAt(value: unknown, name: string): string {
  const found = valueAt(value, name);
  return typeof found === "string" ? found : "";
}

function valueAt(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Leaves the dashboard for the provider, which leads back to SIGN_IN_PATH. */
export async function beginSignIn(provider: Provider): Promise<void> {
  if (!isSecureContext)
    throw new Error("Signing in needs HTTPS: open the dashboard by an https:// address.");
  const server = await discover(provider);
  if (server.authorization_endpoint === undefined)
    throw new Error(`${provider.issuer.host} names no page to sign in at.`);
  const pending: PendingSignIn = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    returnTo: location.pathname + location.search + location.hash,
  };
  const address = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: provider.client.client_id,
    redirect_uri: redirectUri(),
    response_type: "code",
    scope: provider.scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
    state: pending.state,
    nonce: pending.nonce,
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.assign(address);
}

/** Called before the first page is shown: the answer of the provider, if this is one. */
export async function finishSignIn(): Promise<void> {
  if (location.pathname !== SIGN_IN_PATH) return;
  const pending = takePending();
  const answer = new URL(location.href);
  // The code works once: a reload must not send it again.
  history.replaceState(null, "", pending?.returnTo ?? "/");
  try {
    if (pending === null) throw new Error("It was not begun in this tab.");
    const provider = await identityProvider();
    if (provider === null) throw new Error("This server has no identity provider any more.");
    await redeem(provider, pending, answer);
  } catch (error) {
    failure = wordsOf(error);
  }
}

function takePending(): PendingSignIn | null {
  const kept = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (kept === null) return null;
  const found: unknown = JSON.parse(kept);
  return {
    verifier: textAt(found, "verifier"),
    state: textAt(found, "state"),
    nonce: textAt(found, "nonce"),
    returnTo: textAt(found, "returnTo"),
  };
}

async function redeem(provider: Provider, pending: PendingSignIn, answer: URL): Promise<void> {
  const server = await discover(provider);
  const { client } = provider;
  const parameters = oauth.validateAuthResponse(server, client, answer, pending.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectUri(),
    pending.verifier,
    insecure(provider),
  );
  const found = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  });
  keep(provider, found, null);
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Replaces the token before it ends, if the provider gave a refresh token (offline_access). */
export function renewInTime(): void {
  clearTimeout(timer);
  const held = signedIn();
  if (held === null || held.refreshToken === "") return;
  const { refreshToken } = held;
  const wait = Math.max(0, held.endsAt - Date.now() - AHEAD_MS);
  // When it fails the token ends, and the dialog asks again.
  timer = setTimeout(() => void renew(refreshToken).catch(() => undefined), wait);
}

async function renew(refreshToken: string): Promise<void> {
  const provider = await identityProvider();
  if (provider === null) return;
  const server = await discover(provider);
  const { client } = provider;
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    refreshToken,
    insecure(provider),
  );
  const found = await oauth.processRefreshTokenResponse(server, client, response);
  keep(provider, found, refreshToken);
}

function keep(
  provider: Provider,
  found: oauth.TokenEndpointResponse,
  refreshToken: string | null,
): void {
  const claims = oauth.getValidatedIdTokenClaims(found);
  // A provider may leave the ID token out of a refresh: the one before serves to its end.
  if (claims === undefined || found.id_token === undefined) return;
  const held: SignIn = {
    name: nameIn(claims, provider.nameClaim),
    endsAt: claims.exp * 1_000,
    refreshToken: found.refresh_token ?? refreshToken ?? "",
  };
  keepSignIn(found.id_token, held);
  renewInTime();
}

/** By the rule of the server, which takes the name from the same token. */
function nameIn(claims: oauth.IDToken, path: string): string {
  if (path === "")
    return (claims.email_verified !== false && textAt(claims, "email")) || claims.sub;
  if (Object.hasOwn(claims, path)) return textAt(claims, path);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  return textAt(keys.reduce<unknown>(valueAt, claims), last) || claims.sub;
}

async function discover(provider: Provider): Promise<oauth.AuthorizationServer> {
  const response = await oauth.discoveryRequest(provider.issuer, insecure(provider));
  return oauth.processDiscoveryResponse(provider.issuer, response);
}

/** A provider on this machine, as in a trial, may speak plain HTTP. */
function insecure({ issuer }: Provider) {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(issuer.hostname);
  return { [oauth.allowInsecureRequests]: isLocal };
}

function redirectUri(): string {
  return location.origin + SIGN_IN_PATH;
}

function wordsOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description ?? error.error;
  return error instanceof Error ? error.message : String(error);
}
