/**
 * The servers of a channel, which one gets the next call, and which ones cannot be reached.
 *
 *   up -> down (a call could not reach it, or it answered no check) -> up (it answered a check)
 *
 * Calls go to the servers in turn, so that the polls of many agents spread over them. A server that
 * is down gets no call unless all are; meanwhile it is checked, with growing waits. A server where
 * an outcome remained unknown is passed over for a moment: the repeat goes to another one.
 *
 * A server that freezes, or a network that swallows packets, gives no sign, and a poll may wait for
 * long. So while calls wait for a silent server, it is sent checks. If it does not answer one, its
 * calls end with UNAVAILABLE, as if the connection had broken. That is not done to the last server
 * that is up: a busy one is better than none.
 *
 * With one address there is no other server to go to: gRPC alone connects, and again after a break.
 */
import { type Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { createBackoff } from "./backoff.ts";
import { callOutcomeOf, DroverCallError } from "./call-error.ts";
import { type Clock, deadlineIn, type Timer } from "./clock.ts";

/** A call under way at one server. */
export interface ServerCall {
  readonly client: Client;
  /** The server has sent a part of the answer. */
  received(): void;
  /** The call has ended; without an error it was answered. */
  end(error?: DroverCallError): void;
}

export interface Servers {
  /**
   * A call begins, at the next server. `abandon` is called if the server is found to be gone; the
   * call then has to end with this error.
   */
  begin(abandon: (error: DroverCallError) => void): ServerCall;
  close(): void;
}

export interface ServersOptions {
  readonly clock: Clock;
  readonly addresses: readonly string[];
  /** The client of an address; the same one until its credentials have changed. */
  readonly clientOf: (address: string) => Client;
  /** Closes the client of an address: the next one connects anew. */
  readonly renew: (address: string) => void;
}

/** A check is sent when a server has been silent for so long, and then at growing intervals. */
const silentMs = 500;
const silentMsMax = 2_000;
/** Time for the answer to a check. */
const answerMs = 1_000;
/** Time for the answer to a check of a server that is down, over a new connection. */
const connectMs = 5_000;
/** A check that ended so much later than its deadline says that this process was held up. */
const heldUpMs = 250;
/** For how long a server at which an outcome remained unknown is passed over. */
const passedOverMs = 1_000;

interface Server {
  readonly address: string;
  /** What ends each call that is under way. */
  readonly calls: Set<(error: DroverCallError) => void>;
  isUp: boolean;
  passedOverUntilMs: number;
  answeredMs: number;
  /** From the last sign to the next check. */
  intervalMs: number;
  /** When the next check is due, unless the server answers before. */
  dueMs: number;
  isChecking: boolean;
  timer: Timer | null;
}

interface State extends ServersOptions {
  readonly servers: readonly Server[];
  turn: number;
  closed: boolean;
}

export function createServers(options: ServersOptions): Servers {
  const { clock, addresses, clientOf } = options;
  const state: State = {
    ...options,
    servers: addresses.map(newServer),
    // Spread, so that agents which started together do not begin at the same server.
    turn: Math.floor(clock.fraction() * addresses.length),
    closed: false,
  };
  return Object.freeze({
    begin(abandon: (error: DroverCallError) => void): ServerCall {
      const server = nextServer(state);
      const client = clientOf(server.address);
      if (state.servers.length === 1) return { client, received: () => {}, end: () => {} };
      beginCall(state, server, abandon);
      return {
        client,
        received: () => noteAnswer(state, server),
        end: (error) => endCall(state, server, abandon, error),
      };
    },
    close(): void {
      state.closed = true;
      for (const server of state.servers) server.timer?.cancel();
    },
  });
}

function newServer(address: string): Server {
  return {
    address,
    calls: new Set(),
    isUp: true,
    passedOverUntilMs: 0,
    answeredMs: 0,
    intervalMs: silentMs,
    dueMs: 0,
    isChecking: false,
    timer: null,
  };
}

function nextServer(state: State): Server {
  const { clock, servers, turn } = state;
  const inTurn = [...servers.slice(turn), ...servers.slice(0, turn)];
  const nowMs = clock.monotonicMs();
  const next =
    inTurn.find(({ isUp, passedOverUntilMs }) => isUp && passedOverUntilMs <= nowMs) ??
    inTurn.find(({ isUp }) => isUp) ??
    inTurn[0];
  if (next === undefined) throw new Error("a channel has at least one address");
  state.turn = (servers.indexOf(next) + 1) % servers.length;
  return next;
}

function beginCall(state: State, server: Server, abandon: (error: DroverCallError) => void): void {
  const dueMs = state.clock.monotonicMs() + silentMs;
  // Many calls in a row do not delay the check of those before them.
  server.dueMs = server.calls.size === 0 ? dueMs : Math.min(server.dueMs, dueMs);
  server.intervalMs = silentMs;
  server.calls.add(abandon);
  planCheck(state, server);
}

function noteAnswer(state: State, server: Server): void {
  const { isUp } = server;
  server.answeredMs = state.clock.monotonicMs();
  server.dueMs = server.answeredMs + server.intervalMs;
  server.isUp = true;
  if (!isUp) planCheck(state, server);
}

function endCall(
  state: State,
  server: Server,
  abandon: (error: DroverCallError) => void,
  error: DroverCallError | undefined,
): void {
  // One that was abandoned says nothing about the server as it is now.
  if (!server.calls.delete(abandon)) return;
  if (error === undefined || isAnswer(error)) noteAnswer(state, server);
  if (error === undefined || error.code === "CANCELLED" || callOutcomeOf(error) !== "unknown")
    return;
  server.passedOverUntilMs = state.clock.monotonicMs() + passedOverMs;
  if (error.code === "UNAVAILABLE" && !isAnswer(error)) takeDown(state, server);
}

/** Whether a Drover server, or a proxy before it, has made the error. */
function isAnswer({ code, reason }: DroverCallError): boolean {
  return reason !== "" || !noAnswerCodes.has(code);
}

const noAnswerCodes: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
  "UNKNOWN",
]);

function planCheck(state: State, server: Server): void {
  const { clock, closed } = state;
  if (!server.isUp) return;
  server.timer?.cancel();
  if (closed || server.isChecking || server.calls.size === 0) return;
  server.timer = clock.after(server.dueMs - clock.monotonicMs(), () => {
    // The server has answered since then.
    if (server.dueMs > clock.monotonicMs()) planCheck(state, server);
    else if (server.calls.size > 0) void checkSilent(state, server);
  });
}

async function checkSilent(state: State, server: Server): Promise<void> {
  const startedMs = state.clock.monotonicMs();
  server.isChecking = true;
  const result = await check(state, server, answerMs);
  server.isChecking = false;
  if (result === "answered" || server.answeredMs > startedMs) {
    server.intervalMs = Math.min(server.intervalMs * 2, silentMsMax);
    noteAnswer(state, server);
  } else if (server.isUp && result !== "unclear" && hasOther(state, server)) {
    takeDown(state, server);
    if (result === "silent") abandonCalls(server);
  } else server.dueMs = state.clock.monotonicMs() + server.intervalMs;
  planCheck(state, server);
}

function hasOther({ servers }: State, server: Server): boolean {
  return servers.some((other) => other !== server && other.isUp);
}

function abandonCalls({ address, calls }: Server): void {
  const text = `The server at ${address} does not answer; repeat the call at another one.`;
  const all = [...calls];
  calls.clear();
  for (const abandon of all) abandon(new DroverCallError("UNAVAILABLE", text));
}

function takeDown(state: State, server: Server): void {
  if (!server.isUp) return;
  server.isUp = false;
  server.timer?.cancel();
  const backoff = createBackoff(state.clock);
  const again = (): void => {
    // Each check makes a connection of its own, so that these waits are the only ones.
    state.renew(server.address);
    server.timer = state.clock.after(backoff.nextMs(), async () => {
      if (state.closed || server.isUp) return;
      const result = await check(state, server, connectMs);
      if (state.closed || server.isUp) return;
      if (result === "answered") noteAnswer(state, server);
      else {
        if (result === "silent" && hasOther(state, server)) abandonCalls(server);
        again();
      }
    });
  };
  again();
}

/**
 * `refused`: no connection, or it broke; calls under way end by themselves, or go on at a server
 * that drains. `unclear`: the answer may have come while this process was held up.
 */
type CheckResult = "answered" | "refused" | "silent" | "unclear";

/** A health check of gRPC: whatever comes back, a refusal too, shows that something answers. */
function check({ clock, clientOf }: State, { address }: Server, ms: number): Promise<CheckResult> {
  const bytes = (data: Buffer) => data;
  const startedMs = clock.monotonicMs();
  return new Promise((resolve) => {
    clientOf(address).makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      bytes,
      bytes,
      Buffer.alloc(0),
      new Metadata(),
      { deadline: deadlineIn(ms) },
      (error: ServiceError | null) => {
        const lateMs = clock.monotonicMs() - startedMs - ms;
        if (error === null || !silentCodes.has(error.code)) resolve("answered");
        else if (error.code !== status.DEADLINE_EXCEEDED) resolve("refused");
        else resolve(lateMs > heldUpMs ? "unclear" : "silent");
      },
    );
  });
}

const silentCodes: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
]);
