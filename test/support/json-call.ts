// Calls a server as curl would: Connect's JSON over HTTP/1.1.

export interface JsonAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any RPC, picked apart by the test.
  readonly body: any;
}

export async function callJson(
  address: string,
  method: string,
  body: unknown,
): Promise<JsonAnswer> {
  const response = await fetch(`http://${address}/drover.v1.${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

export function jsonAgent(id: string): { id: string; session: string } {
  const session = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  return { id, session };
}
