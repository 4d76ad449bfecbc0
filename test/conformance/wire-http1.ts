/** Connect with JSON over HTTP/1.1 on the wire: taken from the agent as text, sent on as text. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createRegistry, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "@drover/proto/google/rpc/error_details_pb.ts";
import type { Side } from "./wire-http2.ts";
import { type Failure, failures, type RawCall, type RawReply } from "./wire-lane.ts";

const connectFailures: Readonly<Record<Failure, { http: number; code: string }>> = Object.freeze({
  away: { http: 503, code: "unavailable" },
  full: { http: 429, code: "resource_exhausted" },
  "unknown-token": { http: 401, code: "unauthenticated" },
  denied: { http: 403, code: "permission_denied" },
  "no-route": { http: 404, code: "unimplemented" },
});
/** The details of a status are of these types. */
const registry = createRegistry(file_google_rpc_error_details);

/** `arrive`, by the path of the method. */
export async function openHttp1Side(
  arrive: Readonly<Record<string, (call: RawCall) => void>>,
): Promise<Side> {
  const server = createServer((message, response) => {
    void textOf(message).then((text) => {
      const take = arrive[message.url ?? ""];
      if (take === undefined) response.writeHead(404).end();
      else take(rawCall(message, text, response));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return {
    port: address.port,
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

function rawCall(message: IncomingMessage, text: string, response: ServerResponse): RawCall {
  const timeout = Number(message.headers["connect-timeout-ms"] ?? Number.NaN);
  const end = (status: number, type: string, body: string): void => {
    if (!response.writableEnded) response.writeHead(status, { "content-type": type }).end(body);
  };
  const gone = new Promise<void>((resolve) =>
    response.once("close", () => {
      if (!response.writableFinished) resolve();
    }),
  );
  return {
    timeoutMs: Number.isFinite(timeout) ? timeout : null,
    authorization: message.headers.authorization ?? "",
    gone,
    read: (schema) => fromJsonString(schema, text, { ignoreUnknownFields: true, registry }),
    send: (address) =>
      new Promise<RawReply>((resolve) => {
        const sent = request(`http://${address}${message.url}`, {
          method: "POST",
          headers: { ...message.headers, host: address },
        });
        const refused = (): void =>
          resolve({
            code: 14,
            read: () => {
              throw new Error("the server is away");
            },
            pass: () => end(503, "application/json", '{"code":"unavailable"}'),
          });
        sent.once("error", refused);
        sent.once("response", (answer) => {
          textOf(answer).then((body) => {
            const status = answer.statusCode ?? 500;
            resolve({
              code: status === 200 ? 0 : 2,
              read: (schema) =>
                fromJsonString(schema, body, { ignoreUnknownFields: true, registry }),
              pass: () => end(status, answer.headers["content-type"] ?? "application/json", body),
            });
          }, refused);
        });
        sent.end(text);
        void gone.then(() => sent.destroy());
      }),
    answer: (schema, given) =>
      end(200, "application/json", toJsonString(schema, given, { registry })),
    fail(failure: Failure): void {
      const { http, code } = connectFailures[failure];
      const details = failures[failure].details.map(({ typeUrl, value }) => ({
        type: typeUrl.replace(/^.*\//, ""),
        value: Buffer.from(value).toString("base64"),
      }));
      end(http, "application/json", JSON.stringify({ code, details }));
    },
  };
}
