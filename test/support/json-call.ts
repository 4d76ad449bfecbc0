// Calls a server as curl would: Connect's JSON over HTTP/1.1.

export interface JsonAnswer {
  readonly status: number;
  /** JSON of any RPC, picked apart by `at`. */
  readonly body: unknown;
}

/** The value in JSON under these keys and indexes; undefined: there is none. */
export function at(json: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined,
    json,
  );
}

export function textAt(json: unknown, ...path: readonly (string | number)[]): string {
  const found = at(json, ...path);
  if (typeof found === "string") return found;
  throw new Error(`${path.join(".")} is no text in ${JSON.stringify(json)}`);
}

/** Empty where there is none: the JSON of protobuf leaves empty lists out. */
export function listAt(json: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(json, ...path) ?? [];
  if (Array.isArray(found)) return found;
  throw new Error(`${path.join(".")} is no list in ${JSON.stringify(json)}`);
}

export async function callJson(
  address: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const response = await fetch(`http://${address}/drover.v1.${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

export function jsonAgent(id: string): { id: string; session: string } {
  const session = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  return { id, session };
}
