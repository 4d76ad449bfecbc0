// A connection for one piece of work, outside the pools.
import { Client, type ClientBase, type ClientConfig } from "pg";

export async function withConnection<T>(
  config: ClientConfig,
  work: (client: ClientBase) => Promise<T>,
): Promise<T> {
  const client = new Client(config);
  // The statement under way fails; an error event without a listener would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
