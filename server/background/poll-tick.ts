// The poll tick: about once a second, never backed off. However much is parked in this process, one
// statement in each shard (the poll query) asks for all lanes that polls wait for, all runs that
// callers watch, and whether anything has changed of what may be handed out. So a lost notification
// costs a second and never a task. Every 20 s the tick stores which lanes are polled here, which
// agents call here, and how their attempts ended. It stores at once which agents may have died, and
// which agents that count as silent have called. Each shard is polled in a loop of its own, beside
// what is stored in all of them, so a shard that does not answer delays no poll of another one.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { AgentRegistry } from "../dispatch/agent-registry.ts";
import type { AttemptCounter } from "../dispatch/attempt-counts.ts";
import type { Claims } from "../dispatch/claims.ts";
import { type Lanes, refreshLanes } from "../dispatch/lanes.ts";
import type { Waiters } from "../dispatch/waiters.ts";
import type { Watermarks } from "../dispatch/watermarks.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { RunWatchers } from "../scheduler/run-watchers.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore } from "../store/store.ts";
import type { CircuitWatch } from "../supervisor/circuits.ts";

/**
 * What a query just misses, the next one finds. With the time that the query and the claim take,
 * it is handed out within the second that is promised (G15).
 */
const PAUSE_MS = 900;
const POLLED_EVERY_MS = 20_000;

/** What a shard has for the polls of this process. */
interface PolledShard {
  readonly store: EngineStore;
  readonly claims: Pick<Claims, "scan">;
  readonly watermarks: Watermarks;
}

export interface PollTickOptions {
  readonly shards: Shards<PolledShard>;
  readonly clock: Clock;
  readonly log: Logger;
  /** This process among those that poll a lane. */
  readonly node: string;
  /** The address at which agents reach it, for operators. */
  readonly address: string;
  readonly waiters: Waiters;
  readonly lanes: Lanes;
  readonly runWatchers: RunWatchers;
  readonly agentRegistry: AgentRegistry;
  readonly attemptCounter: Pick<AttemptCounter, "send">;
  readonly circuits: Pick<CircuitWatch, "windowMs" | "onPoll">;
  /** Called when a part of a poll tick has failed. */
  readonly onFailed?: (() => void) | undefined;
}

export function createPollTick(options: PollTickOptions): Loop {
  const { shards, clock, log, waiters, runWatchers, agentRegistry, circuits } = options;
  const others = shards.all.filter((shard) => shard !== shards.home);

  /** A part that fails stops none of the others. */
  async function alone(part: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      failed(part, error);
    }
  }

  function failed(part: string, error: unknown): void {
    options.onFailed?.();
    log.warn({ event: "poll-tick.failed", part, err: String(error) });
  }

  async function pollHome(): Promise<void> {
    await alone("lanes", async () => {
      const growing = waiters.all().filter(({ asks }) => options.lanes.mayGrow(asks));
      const added = await refreshLanes(waiters, options.lanes, growing);
      // The other shards may have been polled just before, without these lanes.
      if (added.length > 0) for (const { claims } of others) void claims.scan(added);
    });
    await alone("poll-query", () => poll(shards.home));
  }

  async function poll(shard: PolledShard): Promise<void> {
    const { store, claims, watermarks } = shard;
    const lanes = waiters.lanes();
    const runs = runWatchers.watched().filter(({ runId }) => shards.ofRun(runId) === shard);
    const known = watermarks.asked();
    const { windowMs: circuitsMs } = circuits;
    const answers = await store.pollQuery({ lanes, runs, watermarks: known, circuitsMs });
    // The query skipped rows before watermarks that are no longer valid.
    if (answers.watermarks && !watermarks.seen(answers.watermarks)) void claims.scan(lanes);
    if (answers.lanes.length > 0) void claims.scan(answers.lanes);
    runWatchers.polled(runs, answers.runs);
    agentRegistry.silent(answers.silent);
    if (answers.circuits && shard === shards.home) await circuits.onPoll(answers.circuits);
  }

  const rounds = [
    pollHome,
    ...others.map((shard) => () => alone("poll-query", () => poll(shard))),
    createStoringOfSeen(options, alone),
  ];
  const onError = (error: unknown) => failed("all", error);
  return together(
    rounds.map((runOnce) => createLoop({ clock, everyMs: PAUSE_MS, runOnce, onError })),
  );
}

/** Stores in all shards what this process has seen of polls, agents and attempts. */
function createStoringOfSeen(
  { shards, clock, node, address, waiters, agentRegistry, attemptCounter }: PollTickOptions,
  alone: (part: string, work: () => Promise<unknown>) => Promise<void>,
): () => Promise<void> {
  const everywhere = async (work: (store: EngineStore) => Promise<void>): Promise<void> =>
    void (await Promise.all(shards.all.map(({ store }) => work(store))));
  const storedAtMs = new Map<number, number>();

  async function storePolled(lanes: readonly number[]): Promise<void> {
    const now = clock.monotonicMs();
    for (const [lane, at] of storedAtMs) if (now - at > POLLED_EVERY_MS) storedAtMs.delete(lane);
    const old = lanes.filter((lane) => !storedAtMs.has(lane));
    if (old.length === 0) return;
    await everywhere((store) => store.markPolled(node, old));
    for (const lane of old) storedAtMs.set(lane, now);
  }

  return async () => {
    await alone("watermark polled", () => storePolled(waiters.lanesAskedFor()));
    await alone("agents", async () => {
      await agentRegistry.sendGone((gone) => everywhere((store) => store.markSilent(gone)));
      await agentRegistry.send((seen) => everywhere((store) => store.markAgents(address, seen)));
    });
    await alone("attempts", () =>
      attemptCounter.send((counts) => shards.home.store.countAttempts(counts)),
    );
  };
}

function together(loops: readonly Loop[]): Loop {
  return Object.freeze({
    start() {
      for (const loop of loops) loop.start();
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    /** One after the other. */
    async runOnce() {
      for (const loop of loops) await loop.runOnce();
    },
  });
}
