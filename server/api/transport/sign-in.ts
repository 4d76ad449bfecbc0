// What the dashboard needs to sign a person in at the OpenID provider, in the browser, by
// authorization code with PKCE:
//
//   GET /sign-in.json → {"issuer", "clientId", "scope", "nameClaim"}; {} if there is no sign-in
//
// It needs no token, since it is read before there is one, and contains no secret.
import type { OidcConfig } from "../../identity-config.ts";
import type { Pages } from "./pages.ts";

export function signInPages(oidc: OidcConfig | null): Pages {
  const body = `${JSON.stringify(signInOf(oidc))}\n`;
  return {
    "/sign-in.json": async () => ({ status: 200, contentType: "application/json", body }),
  };
}

/** The origins that the dashboard calls for it. */
export function providerOrigins(oidc: OidcConfig | null): readonly string[] {
  return oidc === null || oidc.clientId === null ? [] : [new URL(oidc.issuer).origin];
}

function signInOf(oidc: OidcConfig | null) {
  if (oidc === null || oidc.clientId === null) return {};
  const { issuer, clientId, scope, nameClaim } = oidc;
  return { issuer, clientId, scope, nameClaim: nameClaim ?? "" };
}
