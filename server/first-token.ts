// The first API token of a control plane, written into its database by whoever may write there: no
// server takes a call without one. All others are made by CreateToken.
import { newApiToken } from "./api-token.ts";
import { systemRandom } from "./clock.ts";
import { LOG_DEFAULTS } from "./config.ts";
import { DroverError } from "./errors.ts";
import { createPostgresStore } from "./store/postgres/postgres-store.ts";
import type { NewToken, TokenRecord } from "./store/tokens.ts";
import { createLog } from "./telemetry/log.ts";

export interface FirstToken extends Pick<NewToken, "name" | "role" | "queues" | "validMs"> {
  /** null: every namespace. */
  readonly namespace: string | null;
  readonly by: string;
}

export interface MadeToken {
  readonly token: TokenRecord;
  readonly secret: string;
}

/** The database has been migrated to the schema of this program. */
export async function createTokenInDatabase(
  connectionString: string,
  { namespace, by, ...said }: FirstToken,
): Promise<MadeToken> {
  const store = createPostgresStore({ connectionString, log: createLog(LOG_DEFAULTS) });
  try {
    const found = namespace === null ? null : await store.namespace(namespace);
    if (namespace !== null && found === null)
      throw new DroverError(
        "NAMESPACE_NOT_FOUND",
        `There is no namespace "${namespace}": check its name.`,
        { metadata: { name: namespace } },
      );
    const { secret, id, digest } = newApiToken(systemRandom);
    const madeBy = `${by}, in the database`;
    const made = { ...said, id, digest, namespaceId: found?.id ?? null, madeBy };
    return { token: await store.tokens.create(made), secret };
  } finally {
    await store.close();
  }
}
