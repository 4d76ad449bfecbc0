/** The OpenID provider of a server, as the command line sets it. */
import { expect, test } from "vitest";
import { identitiesOf } from "../../../cli/identity-options.ts";
import { OIDC_DEFAULTS } from "../../../server/identity-config.ts";

const { rolesClaim, namespacesClaim, scope } = OIDC_DEFAULTS;
const none = { oidcRolesClaim: rolesClaim, oidcNamespacesClaim: namespacesClaim, oidcScope: scope };
const issuer = "https://login.example.com/realms/ops";
const named = { ...none, oidcIssuer: issuer, oidcAudience: "drover" };
const required = { requireTokens: true };

test("JWT are not accepted unless a provider is set", () => {
  expect(identitiesOf(none, { requireTokens: false }).oidc).toBeNull();
});

test("a provider is its issuer and an audience; all else has a default", () => {
  expect(identitiesOf(named, required).oidc).toEqual({
    ...OIDC_DEFAULTS,
    issuer,
    audience: "drover",
  });
});

test("keys come from a file, by https, or by http from this machine alone", () => {
  const keysOf = (oidcJwks: string) => identitiesOf({ ...named, oidcJwks }, required).oidc?.jwks;
  for (const jwks of ["keys.json", "https://login.example.com/keys", "http://127.0.0.1:8080/keys"])
    expect(keysOf(jwks)).toBe(jwks);
  expect(() => keysOf("http://login.example.com/keys")).toThrow(
    '--oidc-jwks is "http://login.example.com/keys": keys must come by https',
  );
});

test.each([
  [{ ...none, oidcAudience: "drover" }, required, "settings of OpenID need the provider"],
  [named, { requireTokens: false }, "--oidc-issuer has no effect on a server that takes calls"],
  [{ ...none, oidcIssuer: issuer }, required, "--oidc-audience is missing"],
  [{ ...named, oidcIssuer: "login" }, required, '--oidc-issuer is "login", which is no URL'],
  [{ ...named, oidcIssuer: "http://login.example.com" }, required, "keys must come by https"],
])("%j with %j is refused", (options, access, message) => {
  expect(() => identitiesOf(options, access)).toThrow(message);
});
