// Mutants that only a store of several shards shows.
import type { Mutant } from "./catalogue.ts";

export const SHARD_MUTANTS: readonly Mutant[] = [
  {
    name: "heartbeat sent to one shard",
    file: "dispatch/shard-sessions.ts",
    find: "const answers = await shard.submit({ ...heartbeat, reports });",
    replace: `const sent = shard === shards.home ? await shard.submit({ ...heartbeat, reports }) : null;
      const answers = sent ?? reports.map(() => ({ kind: "carry-on", leaseMs: 1_000 }) as const);`,
    why: "an agent that sends heartbeats is declared lost in every other shard",
    shards: 2,
  },
  {
    name: "a run placed by the wrong one of its keys",
    file: "scheduler/new-run.ts",
    find: "return concurrency?.key ?? reserved?.key ?? null;",
    replace: "return reserved?.key ?? concurrency?.key ?? null;",
    why: "runs of one concurrency key are in several shards, and more than its limit are under way",
    shards: 2,
  },
  {
    name: "the runs of a backfill placed apart from those of the calendar",
    file: "scheduler/run-id.ts",
    find: 'key.replace(BACKFILL, "schedule/")',
    replace: "key",
    why: "a transaction of the shard of the schedule is to begin a run that belongs to another one",
    shards: 2,
  },
  {
    name: "the end of a run kept until its own shard has the run of another one",
    file: "integrations/triggers/run-ends.ts",
    find: 'return { id, again: came.kind === "again", began: isHere ? began : null };',
    replace: 'return { id, again: came.kind === "again", began: isHere ? null : began };',
    why: "a shard is asked about a run that it cannot know, and never forgets the end",
    shards: 2,
  },
  {
    name: "units raised by what was wanted and not by what was found",
    file: "store/queue-shares.ts",
    find: "return raises(limits, uses, sizes, tokens).map(",
    replace: "return sizes.map((size) => ({ ...size, tokens, isServed: limits !== null })).map(",
    why: "a queue has more tasks with agents, in all shards together, than its limit",
    test: "test/property/queue-shares.test.ts",
  },
  {
    name: "idempotency key looked up in one shard",
    file: "store/all-shards.ts",
    find: "const found = await Promise.all(all.map(({ reads }) => reads.findRun(namespaceId, by)));",
    replace: "const found = await Promise.all([home.reads.findRun(namespaceId, by)]);",
    why: "a run is not found by its key",
    test: "test/contract/memory-shards.test.ts",
  },
  {
    name: "end of a probe read in one shard",
    file: "store/all-shards.ts",
    find: "if (ends.includes(null)) return { ...circuit, probeEnd: null };",
    replace: "if (ends.every((end) => end === null)) return { ...circuit, probeEnd: null };",
    why: "a circuit opens again while the task that tries it is still running",
    test: "test/contract/memory-shards.test.ts",
  },
];
