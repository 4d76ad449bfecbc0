// A receiver of traces: a real HTTP server that takes OTLP as protobuf, as a collector does.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "": it is a root. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client, 5 consumer. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** null: it did not fail. */
  readonly error: string | null;
}

export interface OtlpReceiver {
  /** Of its traces: http://127.0.0.1:PORT/v1/traces. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    if (request.url === "/v1/traces") spans.push(...spansOf(Buffer.concat(chunks)));
    response.writeHead(request.url === "/v1/traces" ? 200 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Value = number | bigint | Uint8Array;

/** The fields of a message by their numbers, as they are on the wire. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly Value[]> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, Value[]>();
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag();
    fields.set(no, [...(fields.get(no) ?? []), readValue(reader, type)]);
  }
  return fields;
}

function readValue(reader: BinaryReader, type: WireType): Value {
  if (type === WireType.LengthDelimited) return reader.bytes();
  if (type === WireType.Bit64) return reader.fixed64() as bigint;
  if (type === WireType.Bit32) return reader.fixed32();
  return BigInt(reader.uint64());
}

type Fields = ReturnType<typeof fieldsOf>;
const all = (fields: Fields, no: number): readonly Uint8Array[] =>
  (fields.get(no) ?? []).filter((value) => value instanceof Uint8Array);
const hex = (fields: Fields, no: number): string =>
  Buffer.from(all(fields, no)[0] ?? []).toString("hex");
const text = (fields: Fields, no: number): string =>
  Buffer.from(all(fields, no)[0] ?? []).toString("utf8");
const number = (fields: Fields, no: number): number => Number(fields.get(no)?.[0] ?? 0);
const ms = (fields: Fields, no: number): number => number(fields, no) / 1_000_000;

function spansOf(request: Uint8Array): readonly ReceivedSpan[] {
  return all(fieldsOf(request), 1).flatMap((resourceSpans) => {
    const of = fieldsOf(resourceSpans);
    const [resource = new Uint8Array()] = all(of, 1);
    const service = String(attributesOf(all(fieldsOf(resource), 1))["service.name"]);
    const scopes = all(of, 2).map(fieldsOf);
    return scopes.flatMap((scope) => all(scope, 2).map((span) => spanOf(fieldsOf(span), service)));
  });
}

function spanOf(fields: Fields, service: string): ReceivedSpan {
  const [status = new Uint8Array()] = all(fields, 15);
  const statusFields = fieldsOf(status);
  return {
    service,
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    state: text(fields, 3),
    parentId: hex(fields, 4),
    name: text(fields, 5),
    kind: number(fields, 6),
    startMs: ms(fields, 7),
    endMs: ms(fields, 8),
    attributes: attributesOf(all(fields, 9)),
    links: all(fields, 13)
      .map(fieldsOf)
      .map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    error: number(statusFields, 3) === 2 ? text(statusFields, 2) : null,
  };
}

function attributesOf(pairs: readonly Uint8Array[]): ReceivedSpan["attributes"] {
  return Object.fromEntries(
    pairs.map(fieldsOf).map((pair) => {
      const [value = new Uint8Array()] = all(pair, 2);
      return [text(pair, 1), anyValue(fieldsOf(value))];
    }),
  );
}

function anyValue(value: Fields): string | number | boolean {
  if (value.has(2)) return number(value, 2) === 1;
  return value.has(3) ? Number(BigInt.asIntN(64, BigInt(number(value, 3)))) : text(value, 1);
}
