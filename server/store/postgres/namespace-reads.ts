// Connections that read one namespace alone, whatever their statements say: a second wall behind
// the condition on the namespace that each statement has.
//
//   connect → begin read only · role drover_reader · its namespace → statements → commit → release
//
// The beginning is sent together with the first statement, and its caller does not wait for the
// commit, so a read takes as many round trips as without. Where `drover migrate --roles` has not
// run, or the server is no member of drover_reader, the connection is as any other.
import type pg from "pg";

type ReadConnection = Pick<pg.PoolClient, "query"> & { release(): void };

export interface NamespaceReads {
  connect(namespaceId: number): Promise<ReadConnection>;
}

/** The policy of this name binds drover_reader. A superuser is a member of every role. */
const IS_WALLED = `select exists (
  select from pg_policies as p
  join pg_roles as r on r.rolname = 'drover_reader'
  where p.schemaname = $1 and p.tablename = 'run' and p.policyname = 'drover_own'
    and pg_has_role(r.oid, 'member')
) as walled`;

export function createNamespaceReads(pool: pg.Pool, schema: string): NamespaceReads {
  const walled = new WeakMap<pg.PoolClient, boolean>();

  async function isWalled(client: pg.PoolClient): Promise<boolean> {
    const known = walled.get(client);
    if (known !== undefined) return known;
    const { rows } = await client.query<{ walled: boolean }>(IS_WALLED, [schema]);
    const found = rows[0]?.walled ?? false;
    walled.set(client, found);
    return found;
  }

  return Object.freeze({
    async connect(namespaceId) {
      const client = await pool.connect();
      try {
        if (!(await isWalled(client))) return client;
      } catch (error) {
        client.release(true);
        throw error;
      }
      // If it fails, PostgreSQL refuses the statements behind it: none runs without the wall.
      client
        .query(
          `begin read only; set local role drover_reader;
           set local drover_reader.namespace = '${Math.trunc(namespaceId)}'`,
        )
        .catch(() => undefined);
      return {
        query: client.query.bind(client),
        release: () =>
          void client.query("commit").then(
            () => client.release(),
            (error: Error) => client.release(error),
          ),
      };
    },
  } satisfies NamespaceReads);
}
