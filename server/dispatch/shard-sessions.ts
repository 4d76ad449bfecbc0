// What an agent session reports, over all shards: it may have leases in any of them. So each shard
// stores the heartbeats of all sessions, and gets the reports about its own tasks.
import { partitionOf } from "../store/partition.ts";
import type { Shards } from "../store/shards.ts";
import type { HeartbeatReport, SessionHeartbeat } from "../store/store.ts";
import type { HeartbeatResult } from "./dispatcher.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { LostPollsHandler } from "./lost-polls.ts";

export function heartbeatsOfShards(shards: Shards<Heartbeats>): Heartbeats {
  if (shards.all.length === 1) return shards.home;
  return Object.freeze({
    submit: (heartbeat) => submit(shards, heartbeat),
    idle: async () => void (await Promise.all(shards.all.map((one) => one.idle()))),
  } satisfies Heartbeats);
}

async function submit(
  shards: Shards<Heartbeats>,
  heartbeat: SessionHeartbeat,
): Promise<readonly HeartbeatResult[]> {
  const results = new Map<HeartbeatReport, HeartbeatResult>();
  await Promise.all(
    shards.all.map(async (shard) => {
      // The shard of a run follows from its id alone, whatever its region.
      const reports = heartbeat.reports.filter(
        ({ runId }) => shards.of(partitionOf(0, runId)) === shard,
      );
      const answers = await shard.submit({ ...heartbeat, reports });
      for (const [index, answer] of answers.entries()) {
        const report = reports[index];
        if (report) results.set(report, answer);
      }
    }),
  );
  return heartbeat.reports.flatMap((report) => results.get(report) ?? []);
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
