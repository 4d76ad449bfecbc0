// One call over plain HTTP, without a socket: what a handler of node:http would be given and send.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

export interface HttpCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface HttpReply {
  readonly status: number;
  readonly text: string;
}

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Resolves when the handler ends its answer. */
export function callOf(handle: HttpHandler, { path, headers, body }: HttpCall): Promise<HttpReply> {
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method: "POST", url: path, headers: { ...headers }, complete: true });
  request.push(Buffer.from(body));
  request.push(null);
  const response = new ServerResponse(request);
  return new Promise((resolve, reject) => {
    response.end = (text: unknown) => {
      resolve({ status: response.statusCode, text: String(text) });
      return response;
    };
    response.destroy = () => {
      reject(new Error("the handler has cut the connection"));
      return response;
    };
    if (!handle(request, response)) reject(new Error(`no handler serves ${path}`));
  });
}
