/** Options for identities besides API tokens: JWT of an OpenID provider, client certificates. */
import { errorMessage } from "@drover/server/errors.ts";
import {
  type IdentityConfig,
  OIDC_DEFAULTS,
  type OidcConfig,
  oidcConfig,
} from "@drover/server/identity-config.ts";
import { type Command, Option } from "commander";
import { usageFailure } from "./failure.ts";
import type { TlsOptions } from "./tls-options.ts";

export interface IdentityOptions {
  readonly oidcIssuer?: string;
  readonly oidcJwks?: string;
  readonly oidcAudience?: string;
  readonly oidcRolesClaim: string;
  readonly oidcNamespacesClaim: string;
  readonly oidcNameClaim?: string;
  readonly oidcClientId?: string;
  readonly oidcScope: string;
  readonly tlsClientIdentities?: string;
}

export function addIdentityOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--oidc-issuer <url>",
        "accept JWT of this OpenID provider as tokens, too; needs --oidc-audience",
      ).env("DROVER_OIDC_ISSUER"),
    )
    .addOption(
      new Option(
        "--oidc-audience <name>",
        "what a JWT must name as its audience (aud) to be accepted",
      ).env("DROVER_OIDC_AUDIENCE"),
    )
    .addOption(
      new Option(
        "--oidc-jwks <url or file>",
        "the keys of the provider; by default where its openid-configuration says",
      ).env("DROVER_OIDC_JWKS"),
    )
    .addOption(
      new Option(
        "--oidc-roles-claim <path>",
        "the claim with the role, or a list of which the strongest counts; dots lead into objects",
      )
        .env("DROVER_OIDC_ROLES_CLAIM")
        .default(OIDC_DEFAULTS.rolesClaim),
    )
    .addOption(
      new Option(
        "--oidc-namespaces-claim <path>",
        "the claim with the namespaces: a list of names, or *; without it, the namespace default",
      )
        .env("DROVER_OIDC_NAMESPACES_CLAIM")
        .default(OIDC_DEFAULTS.namespacesClaim),
    )
    .addOption(
      new Option(
        "--oidc-name-claim <path>",
        "the claim with the name of the person or service (default email, else sub)",
      ).env("DROVER_OIDC_NAME_CLAIM"),
    )
    .addOption(
      new Option(
        "--oidc-client-id <id>",
        "the client of the provider as which the dashboard signs people in",
      ).env("DROVER_OIDC_CLIENT_ID"),
    )
    .addOption(
      new Option("--oidc-scope <scopes>", "what the dashboard asks the provider for")
        .env("DROVER_OIDC_SCOPE")
        .default(OIDC_DEFAULTS.scope),
    )
    .addOption(
      new Option(
        "--tls-client-identities <file>",
        "who the owners of client certificates are (YAML): a call without a token has their role",
      ).env("DROVER_TLS_CLIENT_IDENTITIES_FILE"),
    );
}

/** Throws CliFailure for settings that are wrong or do not belong together. */
export function identitiesOf(
  options: IdentityOptions & Pick<TlsOptions, "tlsClientCa">,
  access: Access,
): IdentityConfig {
  return { oidc: oidcOf(options, access), clientIdentitiesFile: clientsOf(options, access) };
}

interface Access {
  readonly requireTokens: boolean;
}

function clientsOf(
  { tlsClientIdentities: file, tlsClientCa }: Parameters<typeof identitiesOf>[0],
  { requireTokens }: Access,
): string | null {
  if (file === undefined) return null;
  if (tlsClientCa === undefined)
    throw usageFailure(
      "--tls-client-identities needs the authorities of the certificates",
      "--tls-client-ca FILE",
    );
  if (requireTokens) return file;
  throw usageFailure(
    "--tls-client-identities has no effect on a server that takes calls without a token",
    "--require-tokens",
  );
}

function oidcOf(options: IdentityOptions, { requireTokens }: Access): OidcConfig | null {
  const { oidcIssuer: issuer, oidcJwks, oidcAudience, oidcClientId } = options;
  if (issuer === undefined) {
    if (oidcJwks !== undefined || oidcAudience !== undefined || oidcClientId !== undefined)
      throw usageFailure("settings of OpenID need the provider", "--oidc-issuer URL");
    return null;
  }
  if (!requireTokens)
    throw usageFailure(
      "--oidc-issuer has no effect on a server that takes calls without a token",
      "--require-tokens",
    );
  try {
    return oidcConfig({
      issuer,
      audience: options.oidcAudience ?? "",
      jwks: options.oidcJwks ?? null,
      rolesClaim: options.oidcRolesClaim,
      namespacesClaim: options.oidcNamespacesClaim,
      nameClaim: options.oidcNameClaim ?? null,
      clientId: options.oidcClientId ?? null,
      scope: options.oidcScope,
    });
  } catch (error) {
    throw usageFailure(errorMessage(error), "drover server --help describes the settings");
  }
}
