/** A remote service for the http agent: it records what it is sent, and answers as a test says. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface ReceivedRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type Respond = (
  request: ReceivedRequest,
  response: ServerResponse,
  /** Number of the request, from 1. */
  count: number,
) => void;

export interface HttpService {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
}

/** On loopback, until the test has ended. `tls`: files of PEM. */
export async function startHttpService(
  respond: Respond,
  tls?: { readonly certFile: string; readonly keyFile: string },
): Promise<HttpService> {
  const requests: ReceivedRequest[] = [];
  const receive = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = message;
    const request = { method, url, headers, body: await text(message) };
    requests.push(request);
    respond(request, response, requests.length);
  };
  const listener = (message: IncomingMessage, response: ServerResponse) =>
    void receive(message, response).catch(() => response.destroy());
  const server = tls
    ? https.createServer(
        { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
        listener,
      )
    : http.createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const { port } = address;
  const origin = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  return { origin, port, requests };
}

/** A JSON answer. */
export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
