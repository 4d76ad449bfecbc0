// A transaction pooler in front of PostgreSQL, as PgBouncer is one: each transaction of a client
// gets whichever server connection came back last, so no session keeps anything from one to the
// next, nor does a client notice. Prepared statements are made again where they are missing.
//
//   client  starting (its start goes through, and leaves a server connection behind) → idle
//           ⇄ bound (from its first message until the server reports that no transaction is open)
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface TransactionPooler {
  readonly connectionString: string;
  stop(): Promise<void>;
}

interface Backend {
  readonly socket: Socket;
  /** Names of the statements that it knows. */
  readonly prepared: Set<string>;
  client: Client | null;
  /** Answers to statements that the pooler itself has prepared. */
  unasked: number;
}

interface Client {
  readonly socket: Socket;
  readonly prepared: Map<string, Buffer>;
  readonly waiting: Buffer[];
  backend: Backend | null;
}

/** Shared by all clients: the last that came back is the first to go out. */
interface Pool {
  readonly idle: Backend[];
  readonly queue: Client[];
}

const NO_BYTES = Buffer.alloc(0);
const PARSE_COMPLETE = Buffer.from([0x31, 0, 0, 0, 4]);

export async function startTransactionPooler(connectionString: string): Promise<TransactionPooler> {
  const target = new URL(connectionString);
  const pool: Pool = { idle: [], queue: [] };
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((socket) => {
    const upstream = keep(connect(Number(target.port), target.hostname));
    serve(keep(socket), upstream, pool);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the pooler has no port");
  const url = new URL(connectionString);
  url.host = `127.0.0.1:${address.port}`;
  return {
    connectionString: url.href,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The start of a client goes through to a server connection of its own, which all share then. */
function serve(socket: Socket, upstream: Socket, pool: Pool): void {
  const client: Client = { socket, prepared: new Map(), waiting: [], backend: null };
  const backend: Backend = { socket: upstream, prepared: new Set(), client, unasked: 0 };
  client.backend = backend;
  let isStarting = true;
  const fromClient = messagesOf((message) => ask(pool, client, message));
  socket.on("data", (chunk: Buffer) => {
    if (isStarting) upstream.write(chunk);
    else fromClient(chunk);
  });
  socket.on("close", () => {
    // A transaction that its client has left is rolled back by the end of the connection.
    client.backend?.socket.destroy();
  });
  const fromServer = messagesOf((message) => {
    if (isReady(message)) isStarting = false;
    answer(pool, backend, message);
  });
  upstream.on("data", fromServer);
  upstream.on("close", () => {
    if (pool.idle.includes(backend)) pool.idle.splice(pool.idle.indexOf(backend), 1);
    backend.client?.socket.destroy();
  });
}

function ask(pool: Pool, client: Client, message: Buffer): void {
  // Its end must not end the server's connection.
  if (kindOf(message) === "X") return;
  client.waiting.push(message);
  if (client.backend === null && !pool.queue.includes(client)) pool.queue.push(client);
  lend(pool);
  if (client.backend) flush(client, client.backend);
}

function lend(pool: Pool): void {
  while (pool.queue.length > 0 && pool.idle.length > 0) {
    const client = pool.queue.shift();
    const backend = pool.idle.pop();
    if (!client || !backend) return;
    client.backend = backend;
    backend.client = client;
    flush(client, backend);
  }
}

function flush(client: Client, backend: Backend): void {
  for (const message of client.waiting.splice(0)) send(client, backend, message);
}

function send(client: Client, backend: Backend, message: Buffer): void {
  const kind = kindOf(message);
  const name = kind === "P" ? textAt(message, 5) : kind === "B" ? statementOf(message) : "";
  if (name === "") {
    backend.socket.write(message);
    return;
  }
  const isKnown = backend.prepared.has(name);
  backend.prepared.add(name);
  if (kind === "P") {
    client.prepared.set(name, message);
    if (isKnown) client.socket.write(PARSE_COMPLETE);
    else backend.socket.write(message);
    return;
  }
  const parse = client.prepared.get(name);
  if (!isKnown && parse) {
    backend.unasked += 1;
    backend.socket.write(parse);
  }
  backend.socket.write(message);
}

function answer(pool: Pool, backend: Backend, message: Buffer): void {
  const { client } = backend;
  if (kindOf(message) === "1" && backend.unasked > 0) {
    backend.unasked -= 1;
    return;
  }
  client?.socket.write(message);
  if (!isReady(message) || String.fromCharCode(message[5] ?? 0) !== "I") return;
  backend.client = null;
  if (client) client.backend = null;
  pool.idle.push(backend);
  lend(pool);
}

const kindOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);
const isReady = (message: Buffer): boolean => kindOf(message) === "Z";

function textAt(message: Buffer, from: number): string {
  return message.toString("utf8", from, message.indexOf(0, from));
}

/** Of a Bind: the portal comes first. */
function statementOf(message: Buffer): string {
  return textAt(message, message.indexOf(0, 5) + 1);
}

/** Puts chunks together and cuts them into messages: a letter, a length, and so many bytes. */
function messagesOf(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = NO_BYTES;
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
      const end = 1 + rest.readUInt32BE(1);
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      onMessage(message);
    }
  };
}
