/** Where the card processor calls back: hands on each token with the payment that it is about. */
import { createServer } from "node:http";
import { listen, readBody } from "../stage/service.ts";

export interface Webhook {
  readonly url: string;
  readonly close: () => void;
}

export async function openWebhook(
  onCallback: (token: string, ref: string) => Promise<unknown>,
): Promise<Webhook> {
  const server = createServer(async (message, response) => {
    const { token, ref } = await readBody(message);
    const isTaken = await onCallback(String(token), String(ref)).then(
      () => true,
      () => false,
    );
    response.writeHead(isTaken ? 204 : 500).end();
  });
  return { url: await listen(server), close: () => server.close() };
}
