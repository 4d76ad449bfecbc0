// The agent registry: which agents call this server. It is kept in memory and sent to the store by
// the poll tick: each session at most once in 20 s, and at once where the store counts the session
// as silent. No call waits for it. What a server has not sent when it is killed is lost.
//
// A session is sent as gone when its connection has closed while its poll was parked, and it has
// not called since: the process may have been killed. A lost lease leads to the same
// (scheduler/commit-summary.ts).
import type { Clock } from "../clock.ts";
import type { AgentPoll, AgentProcessSeen, AgentSeen, SilentSession } from "../store/operators.ts";
import type { AgentIdentity } from "./dispatcher.ts";

const SENT_EVERY_MS = 20_000;
/** Most rows of one statement. At one statement a second they cover eighty thousand agents. */
const SENT_MAX = 4_000;
/** Most sessions that are remembered: more than the calls that a server admits. */
const KNOWN_MAX = 50_000;
/** An agent that has lost its connection has a new one by then, and polls again. */
const GONE_AFTER_MS = 1_000;

export interface AgentRegistry {
  /** The agent has called. `poll`: what it asks for, if the call is a poll. */
  called(agent: AgentIdentity, namespaceId: number, poll: AgentPoll | null): void;
  /**
   * The same for a poll, which stays parked until the returned function is called. `isGone`: the
   * connection was closed, or the call was cancelled. `process`: left out if the agent states
   * nothing.
   */
  parked(
    agent: AgentIdentity,
    namespaceId: number,
    poll: AgentPoll,
    process?: AgentProcessSeen,
  ): (isGone: boolean) => void;
  /** A success that the agent reported was accepted. */
  succeeded(agent: AgentIdentity): void;
  /** The database has another incarnation: each session that calls is new to it. */
  forget(): void;
  /**
   * Sends what is new, and forgets sessions that have ended. What could not be sent is sent with
   * the next call.
   */
  send(hand: (seen: readonly AgentSeen[]) => Promise<void>): Promise<void>;
  /** The store counts these sessions as silent. Those that have called since are sent next. */
  silent(sessions: readonly string[]): void;
  /**
   * Sends the sessions whose connection has closed, each once. What could not be sent is sent with
   * the next call.
   */
  sendGone(hand: (gone: readonly SilentSession[]) => Promise<void>): Promise<void>;
}

interface Entry {
  agent: AgentIdentity;
  readonly namespaceId: number;
  poll: AgentPoll | null;
  process: AgentProcessSeen | null;
  /** When it stated its process. */
  statedAtMs: number;
  parked: number;
  calledAtMs: number;
  /** As `calledAtMs`, or the end of its last parked poll. */
  seenAtMs: number;
  /** It was seen since it was last sent. */
  isFresh: boolean;
  /** It has called since it was last sent. */
  hasCalled: boolean;
  /**
   * When its connection closed during its last parked poll; null: it did not, this was sent, or the
   * session has called since.
   */
  goneAtMs: number | null;
  succeededAtMs: number | null;
  sentAtMs: number | null;
}

interface State {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** By session. */
  readonly known: Map<string, Entry>;
}

export function createAgentRegistry(clock: State["clock"]): AgentRegistry {
  const state: State = { clock, known: new Map() };
  return Object.freeze({
    called(agent, namespaceId, poll) {
      called(state, agent, namespaceId, poll);
    },
    parked: (agent, namespaceId, poll, process) => {
      return parked(state, agent, namespaceId, poll, process);
    },
    succeeded: (agent) => succeeded(state, agent),
    forget: () => state.known.clear(),
    send: (hand) => send(state, hand),
    silent: (sessions) => silent(state, sessions),
    sendGone: (hand) => sendGone(state, hand),
  } satisfies AgentRegistry);
}

function called(
  { clock, known }: State,
  agent: AgentIdentity,
  namespaceId: number,
  poll: AgentPoll | null,
): Entry {
  const calledAtMs = clock.monotonicMs();
  const entry = known.get(agent.session) ?? {
    agent,
    namespaceId,
    poll,
    process: null,
    statedAtMs: calledAtMs,
    parked: 0,
    calledAtMs,
    seenAtMs: calledAtMs,
    isFresh: true,
    hasCalled: true,
    goneAtMs: null,
    succeededAtMs: null,
    sentAtMs: null,
  };
  entry.agent = agent;
  entry.poll = poll ?? entry.poll;
  recordCall(clock, entry);
  if (known.size < KNOWN_MAX) known.set(agent.session, entry);
  return entry;
}

function parked(
  state: State,
  agent: AgentIdentity,
  namespaceId: number,
  poll: AgentPoll,
  process: AgentProcessSeen | undefined,
): (isGone: boolean) => void {
  const entry = called(state, agent, namespaceId, poll);
  if (process) {
    entry.process = process;
    entry.statedAtMs = entry.calledAtMs;
  }
  entry.parked += 1;
  return (isGone) => {
    entry.parked -= 1;
    see(state.clock, entry);
    if (isGone && entry.parked === 0) entry.goneAtMs = entry.seenAtMs;
  };
}

function succeeded({ clock, known }: State, { session }: AgentIdentity): void {
  const entry = known.get(session);
  if (!entry) return;
  recordCall(clock, entry);
  entry.succeededAtMs = entry.calledAtMs;
}

function recordCall(clock: State["clock"], entry: Entry): void {
  entry.calledAtMs = clock.monotonicMs();
  entry.hasCalled = true;
  entry.goneAtMs = null;
  see(clock, entry);
}

function see(clock: State["clock"], entry: Entry): void {
  entry.seenAtMs = clock.monotonicMs();
  entry.isFresh = true;
}

async function send(
  { clock, known }: State,
  hand: (seen: readonly AgentSeen[]) => Promise<void>,
): Promise<void> {
  const now = clock.monotonicMs();
  for (const [session, entry] of known) if (isIdle(entry, now)) known.delete(session);
  const news = [...known.values()].filter((entry) => isToSend(entry, now)).slice(0, SENT_MAX);
  if (news.length === 0) return;
  // Reset before the send: what the agent does during the send is new again.
  const seen = news.map((entry) => seenOf(entry, now));
  for (const entry of news) entry.isFresh = entry.hasCalled = false;
  try {
    await hand(seen);
    for (const entry of news) entry.sentAtMs = now;
  } catch (error) {
    for (const entry of news) entry.isFresh = entry.hasCalled = true;
    throw error;
  }
}

/** Everything about the session was sent, and it was not seen again. */
function isIdle({ parked, isFresh, sentAtMs }: Entry, now: number): boolean {
  if (parked > 0 || isFresh || sentAtMs === null) return false;
  return now - sentAtMs >= SENT_EVERY_MS;
}

function isToSend(entry: Entry, now: number): boolean {
  if (entry.sentAtMs === null) return true;
  if (now - entry.sentAtMs < SENT_EVERY_MS) return false;
  return entry.parked > 0 || entry.isFresh;
}

function seenOf(entry: Entry, now: number): AgentSeen {
  const { agent, namespaceId, poll, process, statedAtMs, parked } = entry;
  const { calledAtMs, seenAtMs, succeededAtMs } = entry;
  return {
    session: agent.session,
    namespaceId,
    agentId: agent.id,
    agentVersion: agent.version,
    labels: agent.labels ?? {},
    poll,
    ...(process && { process: agedBy(process, now - statedAtMs) }),
    agoMs: parked > 0 ? 0 : now - seenAtMs,
    calledAgoMs: now - calledAtMs,
    succeededAgoMs: succeededAtMs === null ? null : now - succeededAtMs,
  };
}

function agedBy(process: AgentProcessSeen, ms: number): AgentProcessSeen {
  const { startedAgoMs } = process;
  return { ...process, startedAgoMs: startedAgoMs === null ? null : Math.round(startedAgoMs + ms) };
}

function silent({ known }: State, sessions: readonly string[]): void {
  for (const session of sessions) {
    const entry = known.get(session);
    if (entry?.hasCalled) entry.sentAtMs = null;
  }
}

async function sendGone(
  { clock, known }: State,
  hand: (gone: readonly SilentSession[]) => Promise<void>,
): Promise<void> {
  const now = clock.monotonicMs();
  const gone = [...known.values()]
    .flatMap((entry) => (entry.goneAtMs === null ? [] : [{ entry, agoMs: now - entry.goneAtMs }]))
    .filter(({ agoMs }) => agoMs >= GONE_AFTER_MS)
    .slice(0, SENT_MAX);
  if (gone.length === 0) return;
  await hand(
    gone.map(({ entry, agoMs }) => ({ kind: "gone", session: entry.agent.session, agoMs })),
  );
  for (const { entry } of gone) entry.goneAtMs = null;
}
