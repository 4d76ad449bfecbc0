// What an agent session reports, over all shards: it may have leases in any of them. So each shard
// stores the heartbeats of all sessions, and gets the reports about its own tasks. A shard that
// does not answer renews no lease, and takes none from tasks in other shards.
import type { Clock } from "../clock.ts";
import { DroverError, type Reason } from "../errors.ts";
import { partitionOf } from "../store/partition.ts";
import type { Shards } from "../store/shards.ts";
import type { HeartbeatReport, SessionHeartbeat } from "../store/store.ts";
import type { HeartbeatResult } from "./dispatcher.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { LostPollsHandler } from "./lost-polls.ts";

/** How long the answer of a shard waits for those of others that may be away, in milliseconds. */
const OTHERS_MS_MAX = 1_000;
/** OVERLOADED: more waits for it than it may. */
const AWAY: ReadonlySet<Reason> = new Set(["STORE_UNAVAILABLE", "OVERLOADED"]);

export function heartbeatsOfShards(
  shards: Shards<Heartbeats>,
  clock: Pick<Clock, "after">,
): Heartbeats {
  if (shards.all.length === 1) return shards.home;
  return Object.freeze({
    submit: (heartbeat) => submit(shards, clock, heartbeat),
    idle: async () => void (await Promise.all(shards.all.map((one) => one.idle()))),
  } satisfies Heartbeats);
}

/** Fails if no shard answers, or if one refuses the session. */
async function submit(
  shards: Shards<Heartbeats>,
  clock: Pick<Clock, "after">,
  heartbeat: SessionHeartbeat,
): Promise<readonly HeartbeatResult[]> {
  const results = new Map<HeartbeatReport, HeartbeatResult>();
  const asked = shards.all.map(async (shard) => {
    // The shard of a run follows from its id alone, whatever its region.
    const reports = heartbeat.reports.filter(
      ({ runId }) => shards.of(partitionOf(0, runId)) === shard,
    );
    const answers = await shard.submit({ ...heartbeat, reports });
    for (const [index, answer] of answers.entries()) {
      const report = reports[index];
      if (report) results.set(report, answer);
    }
  });
  await answeredInTime(asked, clock);
  return heartbeat.reports.map((report) => results.get(report) ?? { kind: "unanswered" });
}

/** Waits for all, and not much longer than for the first. Throws if none answers. */
async function answeredInTime(
  asked: readonly Promise<void>[],
  clock: Pick<Clock, "after">,
): Promise<void> {
  const settled = Promise.all(asked.map((one) => one.catch(onlyIfAway)));
  const isAnswered = await Promise.any(asked).then(
    () => true,
    () => false,
  );
  if (!isAnswered) throw (await settled)[0];
  await new Promise<void>((resolve, reject) => {
    const timer = clock.after(OTHERS_MS_MAX, resolve);
    settled.then(() => resolve(), reject).finally(() => timer.cancel());
  });
}

/** Returns the error of a shard that does not answer, and throws any other. */
function onlyIfAway(error: unknown): unknown {
  if (error instanceof DroverError && AWAY.has(error.reason)) return error;
  throw error;
}

export function lostPollsOfShards(shards: Shards<LostPollsHandler>): LostPollsHandler {
  if (shards.all.length === 1) return shards.home;
  const each = async (work: (one: LostPollsHandler) => Promise<void>): Promise<void> =>
    void (await Promise.all(shards.all.map(work)));
  return Object.freeze({
    giveBack: (lost) => each((one) => one.giveBack(lost)),
    idle: () => each((one) => one.idle()),
  } satisfies LostPollsHandler);
}
