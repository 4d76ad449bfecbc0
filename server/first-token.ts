// Writes the first API token of a control plane into its database, for a person who may write
// there: a server that requires tokens takes no call without one. The rules are those of
// CreateToken, which makes all other tokens.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CreateTokenRequestSchema,
  type CreateTokenResponse,
  CreateTokenResponseSchema,
} from "@drover/proto/drover/v1/token_pb.ts";
import { createNamespaces } from "./api/calls/namespace-names.ts";
import { createRequestCheck } from "./api/calls/request-check.ts";
import { createTokenCalls } from "./api/operator/token-calls.ts";
import { systemRandom } from "./clock.ts";
import { LOG_DEFAULTS } from "./config.ts";
import { RPC_DEFAULTS } from "./rpc-config.ts";
import { DATABASE_SCHEMA } from "./store/postgres/database-schema.ts";
import { migrate } from "./store/postgres/migrate.ts";
import { MIGRATIONS } from "./store/postgres/migrations-folder.ts";
import { createPostgresStore } from "./store/postgres/postgres-store.ts";
import { createLog } from "./telemetry/log.ts";

const NO_CALLER = {
  signal: new AbortController().signal,
  deadlineMs: null,
  peer: "",
  caller: null,
  header: () => null,
  certificate: () => null,
  itemErrors: new Map(),
  pauses: false,
};

/** Migrates the database first, as a server does. */
export async function createTokenInDatabase(
  connectionString: string,
  asked: MessageInitShape<typeof CreateTokenRequestSchema>,
  schema: string = DATABASE_SCHEMA,
): Promise<CreateTokenResponse> {
  const request = create(CreateTokenRequestSchema, asked);
  createRequestCheck(RPC_DEFAULTS).check(CreateTokenRequestSchema, request, null);
  await migrate(connectionString, { folder: MIGRATIONS, schema });
  const log = createLog(LOG_DEFAULTS);
  const store = createPostgresStore({ connectionString, schema, log });
  try {
    const namespaces = createNamespaces(store);
    const calls = createTokenCalls({ store, namespaces, random: systemRandom, log });
    return create(CreateTokenResponseSchema, await calls.createToken(request, NO_CALLER));
  } finally {
    await store.close();
  }
}
