/** `--all-namespaces`: a call for each namespace that the caller may see, a few at a time. */
import type { Connection } from "./client.ts";
import { limitMax, readPages } from "./lists.ts";

const callsAtOnceMax = 8;

/** In the order of the names. An error of one namespace is the error of all. */
export async function inAllNamespaces<Found>(
  connection: Connection,
  read: (of: Connection) => Promise<Found>,
): Promise<readonly { readonly namespace: string; readonly found: Found }[]> {
  const { items } = await readPages(limitMax, async (page) => {
    const answer = await connection.operator.listNamespaces(page);
    return { items: answer.namespaces, nextPageToken: answer.nextPageToken };
  });
  const found: { readonly namespace: string; readonly found: Found }[] = [];
  for (let at = 0; at < items.length; at += callsAtOnceMax) {
    const some = items.slice(at, at + callsAtOnceMax).map(async ({ name: namespace }) => ({
      namespace,
      found: await read({ ...connection, namespace }),
    }));
    found.push(...(await Promise.all(some)));
  }
  return found;
}
