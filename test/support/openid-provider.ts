// A real OpenID provider in this process, with its own forms to sign in and to consent: people with
// the claims that Drover reads, and the dashboard as a public client.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import { freeAddress } from "./free-address.ts";

export const DASHBOARD_CLIENT = "drover-dashboard";
export const DASHBOARD_SCOPE = "openid email drover";

export interface OpenidProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

interface Person {
  readonly email: string;
  readonly drover_roles?: string;
  readonly drover_namespaces?: string;
}

/**
 * `people`: by the name under which they sign in; each password is accepted. `dashboard`: the
 * origin that the client may lead back to.
 */
export async function startOpenidProvider(
  people: Readonly<Record<string, Person>>,
  dashboard: string,
): Promise<OpenidProvider> {
  const address = await freeAddress();
  const issuer = `http://${address}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: DASHBOARD_CLIENT,
        token_endpoint_auth_method: "none",
        redirect_uris: [`${dashboard}/sign-in`],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
    ],
    claims: { email: ["email"], drover: ["drover_roles", "drover_namespaces"] },
    conformIdTokenClaims: false,
    clientBasedCORS: (_context, origin) => origin === dashboard,
    cookies: { keys: ["a key for tests"] },
    issueRefreshToken: () => Promise.resolve(true),
    findAccount: (_context, id) => {
      const person = people[id];
      return person && { accountId: id, claims: () => ({ sub: id, ...person }) };
    },
  });
  const port = Number(address.split(":").at(-1));
  const server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
