// Settings of identities besides API tokens: JWT of an OpenID provider, and client certificates.

export interface IdentityConfig {
  /** null: JWT are not accepted. */
  readonly oidc: OidcConfig | null;
  /** Says in YAML who the owners of client certificates are; null: those give no identity. */
  readonly clientIdentitiesFile: string | null;
}

export const NO_IDENTITIES: IdentityConfig = Object.freeze({
  oidc: null,
  clientIdentitiesFile: null,
});

/** An OpenID provider, whose JWT are accepted as bearer tokens. */
export interface OidcConfig {
  /** The `iss` of its tokens, and where its configuration is found. */
  readonly issuer: string;
  /** Its keys (JWKS), as a URL or a file; null: where its configuration says. */
  readonly jwks: string | null;
  /** What its tokens must name as `aud`. */
  readonly audience: string;
  /** Claims are dotted paths, as `realm_access.roles`. */
  readonly rolesClaim: string;
  readonly namespacesClaim: string;
  /** null: `email`, else `sub`. */
  readonly nameClaim: string | null;
  /** The client as which the dashboard signs people in; null: it does not. */
  readonly clientId: string | null;
  /** What the dashboard asks for. */
  readonly scope: string;
}

export const OIDC_DEFAULTS = Object.freeze({
  jwks: null,
  rolesClaim: "drover_roles",
  namespacesClaim: "drover_namespaces",
  nameClaim: null,
  clientId: null,
  scope: "openid profile email",
});

type GivenOidc = Pick<OidcConfig, "issuer" | "audience"> & Partial<OidcConfig>;

/** Over the defaults. Throws an Error that names every setting that is wrong. */
export function oidcConfig(given: GivenOidc): OidcConfig {
  const config: OidcConfig = { ...OIDC_DEFAULTS, ...given };
  const { issuer, jwks, audience } = config;
  const problems = [problemOfUrl("--oidc-issuer", issuer)];
  if (jwks?.includes("://")) problems.push(problemOfUrl("--oidc-jwks", jwks));
  if (audience === "")
    problems.push(
      "--oidc-audience is missing: without it, the server would accept tokens that the issuer made for other services",
    );
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw new Error(found.join("; "));
  return Object.freeze(config);
}

/**
 * null: keys may come from it. Plain text could be replaced on the way, so only loopback may send
 * keys so.
 */
export function problemOfUrl(flag: string, text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "")
    return `${flag} is "${text}", which is no URL such as https://login.example.com/realms/ops`;
  if (url.protocol === "https:") return null;
  if (url.protocol === "http:" && LOOPBACK.test(url.hostname)) return null;
  return `${flag} is "${text}": keys must come by https, or by http from this machine`;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
