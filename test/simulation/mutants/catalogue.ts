// Mutants of the server by name, each with one mistake. The simulator must catch each: if it missed
// one, it would miss the real mistake too. A mutant that random seeds show too rarely has a test of
// its own that must fail.
//
// A mutant is a piece of a source file and what replaces it. The piece must be in the file
// exactly once; a test keeps that true, so a mutant cannot rot away unseen.
import { LEAVING_MUTANTS } from "./catalogue-leaving.ts";
import { PAGE_MUTANTS } from "./catalogue-pages.ts";
import { SHARD_MUTANTS } from "./catalogue-shards.ts";
import { WATCHING_MUTANTS } from "./catalogue-watching.ts";

export interface Mutant {
  readonly name: string;
  /** Below server/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** What goes wrong in the world because of it. */
  readonly why: string;
  /** The file of the test that fails because of it; left out: the simulator finds it. */
  readonly test?: string;
  /** The simulator finds it in a store of so many shards; left out: of one. */
  readonly shards?: number;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "fence unchecked",
    file: "core/events/on-report.ts",
    find: `lease?.kind === "LEASED" && lease.fence === report.fence && lease.task === report.task) {
    if (lease.secret === report.secret) {`,
    replace: `lease?.kind === "LEASED" && lease.task === report.task) {
    if (lease.secret.length > 0) {`,
    why: "a report of an attempt that was replaced ends the one that replaced it",
  },
  {
    name: "writer row not locked",
    file: "scheduler/fence.ts",
    find: "await tx.holdWriter({ node, number }, taken);",
    replace: "taken;",
    why: "a supervisor that was fenced continues acting in its old epoch",
  },
  {
    name: "acknowledged before the commit",
    file: "batching/batcher.ts",
    find: "for (const pending of batch) pending.reject(cause);",
    replace: 'for (const pending of batch) pending.resolve({ kind: "done" } as never);',
    why: "a report is acknowledged whose transaction has failed",
  },
  {
    name: "notification the only wake-up",
    file: "background/poll-tick.ts",
    find: "if (answers.lanes.length > 0) void claims.scan(answers.lanes);",
    replace: "",
    why: "a ready task and a waiting agent miss each other when a notification is lost",
  },
  {
    name: "a drain gives back what it hands over",
    file: "dispatch/dispatch.ts",
    find: "if (gone.aborted) return giveBack(options, request.namespace, served);",
    replace: "if (over.aborted) giveBack(options, request.namespace, served);",
    why: "a task that is claimed while its server drains is performed twice, under one key",
  },
  {
    name: "task id reused after failover",
    file: "dispatch/claims.ts",
    find: 'const secret = Buffer.from(random.bytes(16)).toString("hex");',
    replace:
      'const secret = [row.step, row.task.length, row.fence, row.attempt].join("0").padStart(32, "0");',
    why: "a report of a hand-out that the store has forgotten ends the one that replaced it",
  },
  {
    name: "successor activated twice",
    file: "core/open.ts",
    find: 'if (forward.kind === "BLOCKED" && forward.waitingFor === 0)',
    replace: 'if (forward.kind === "BLOCKED" && forward.waitingFor <= 1)',
    why: "a step is made ready by each of its needs, and not by the last",
  },
  {
    name: "compensation before a cancelled attempt has settled",
    file: "core/recovery/saga.ts",
    find: `case "STOPPING":
      if (run.moving > 0) return null;`,
    replace: 'case "STOPPING":',
    why: "a step is undone while an agent may still be doing it",
  },
  {
    name: "compensation without settle",
    file: "core/recovery/saga.ts",
    find: "if (state.settleUntil !== null && state.settleUntil > now) return null;",
    replace: "",
    why: "a step is undone while a lost agent may still be in its last call",
  },
  {
    name: "retry over budget",
    file: "core/recovery/recovery.ts",
    find: "return policy && tries < policy.attempts ? { policy, tries } : null;",
    replace: "return policy && tries <= policy.attempts ? { policy, tries } : null;",
    why: "a step is tried once more than its policy allows",
  },
  {
    name: "idempotency key stored after the run",
    file: "scheduler/schedule.ts",
    find: "if (reserved && holder && holder.runId !== runId)",
    replace: "if (reserved && holder && holder.runId === null)",
    why: "a repeated Schedule starts a second run",
  },
  {
    name: "heartbeat lost at take-over",
    file: "scheduler/load.ts",
    find: "const lastHeartbeatAt = session === null ? null : (heartbeats.get(session) ?? null);",
    replace: "const lastHeartbeatAt = heartbeats.size < 0 ? 0 : null;",
    why: "an agent that sends heartbeats is declared lost, since its supervisor does not know them",
  },
  {
    name: "a lease ended because a heartbeat did not list it",
    file: "dispatch/heartbeats.ts",
    find: "await store.heartbeat(heartbeats);",
    replace: "await store.heartbeat(heartbeats.map((one) => ({ ...one, listsAllTo: 500 })));",
    why: "a task is handed to a second agent while the first works on it",
  },
  {
    name: "unknown retried on once",
    file: "core/recovery/recovery.ts",
    find: 'if (forward && setback.unknown && plan.effects !== "idempotent") {',
    replace: 'if (forward && setback.unknown && plan.effects === "verifiable") {',
    why: "a step that may run once only is run again when its outcome is unknown",
  },
  {
    name: "verify skipped",
    file: "core/recovery/recovery.ts",
    find: 'if (forward && setback.unknown && plan.effects !== "idempotent") {',
    replace: 'if (forward && setback.unknown && plan.effects === "once") {',
    why: "an unknown is retried although a verify could have found whether it took effect",
  },
  {
    name: "verify without settle",
    file: "core/recovery/unknown-outcome.ts",
    find: 'const waits = task === "compensate" || effects !== "idempotent";',
    replace: 'const waits = task === "compensate" || effects === "idempotent";',
    why: "a verify runs while a lost agent may still be in its last call",
  },
  {
    name: "callback before its agent has answered not found",
    file: "scheduler/load.ts",
    find: "withSecrets(await withRowsBeside(tx, await withFacts(tx, views), attempts))",
    replace: "await withRowsBeside(tx, await withFacts(tx, views), attempts)",
    why: "the remote service is answered that the task which it was given does not exist",
  },
  {
    name: "pause ignored",
    file: "core/events/on-command.ts",
    find: 'if (moving?.kind === "READY") emit(pass, { kind: "held", step: step.no, task: moving.task });',
    replace: "void moving;",
    why: "what was ready when its run was paused is handed out all the same",
  },
  {
    name: "one idempotency key over two strategies",
    file: "core/model/strategy.ts",
    find: "gateWay(items.started, strategy) : strategy}",
    replace: "gateWay(items.started, strategy) : 0}",
    why: "the remote service takes the second way for a repeat of the first",
  },
  {
    name: "permit granted above the limit",
    file: "core/model/permits.ts",
    find: "if (holders >= permit.limit) break;",
    replace: "if (holders > permit.limit) break;",
    why: "more runs of a key are under way than its limit allows",
  },
  {
    name: "permit not given back",
    file: "scheduler/permits.ts",
    find: 'if (endsIn(before.run, after.run)) return [{ record, does: "leave" }];',
    replace: "void endsIn;",
    why: "a run that has ended holds its permit, and a run that waits for it never begins",
  },
  {
    name: "limit counted without its lock",
    file: "core/model/permits.ts",
    find: `const holders = permits.filter(({ holds }) => holds).length;
  const permit: Permit = { ...asks, holds: false, leaving: false };
  if (holders < asks.limit && holders === permits.length)`,
    replace: `const seen = permits.filter(({ since }) => since < asks.since - 300);
  const holders = seen.filter(({ holds }) => holds).length;
  const permit: Permit = { ...asks, holds: false, leaving: false };
  if (holders < asks.limit && holders === seen.length)`,
    why: "two runs of a key that ask at the same time do not see each other",
  },
  {
    name: "free permit announced to no run",
    file: "core/events/on-message.ts",
    find: "if (waitsForPermit(pass)) begin(pass);",
    replace: "waitsForPermit(pass);",
    why: "a run that has got its permit does not begin",
  },
  {
    name: "started before its time",
    file: "core/decide.ts",
    find: "if (startAt && startAt > now)",
    replace: "if (startAt && startAt > now + 2_000)",
    why: "a run that is to start soon begins at once",
  },
  {
    name: "reused steps done again",
    file: "scheduler/rerun.ts",
    find: 'if (from.kind === "start" || steps.size === 0) return [];',
    replace: 'if (from.kind !== "step" || steps.size === 0) return [];',
    why: "a retry does again what had succeeded",
  },
  {
    name: "reused effect undone under another key",
    file: "dispatch/handed-task.ts",
    find: "facts.effectOf ?? ready.runId",
    replace: "ready.runId",
    why: "the remote service still has what an earlier run had made",
  },
  {
    name: "webhook settled without an answer",
    file: "supervisor/webhook-deliveries.ts",
    find: 'if (result.kind === "delivered")',
    replace: 'if (result.kind === "delivered" || result.why === "no answer")',
    why: "a webhook that got lost is never sent again",
  },
  {
    name: "unwatched while webhooks are answered",
    file: "life-cycle.ts",
    find: "await Promise.all(shards.map(({ deliveries }) => deliveries?.stop()));",
    replace: `await Promise.all(shards.map(({ timers }) => timers.stop()));
      await Promise.all(shards.map(({ deliveries }) => deliveries?.stop()));`,
    why: "a server that stops holds its partitions for long and does not scan them",
  },
  {
    name: "cancel not inherited by a child",
    file: "core/child.ts",
    find: 'messageChild(pass, step, { kind: "cancel", undo });',
    replace: "void undo;",
    why: "a run that was cancelled waits for a child that continues",
  },
  {
    name: "next wave without its gate",
    file: "core/map.ts",
    find: 'if (work.kind === "map" && work.gate) askGate(pass, no);\n  else beginWave(pass, no);',
    replace: "void work;\n  beginWave(pass, no);",
    why: "a roll-out continues although no gate has checked its last wave",
  },
  {
    name: "items above the concurrency",
    file: "core/map.ts",
    find: "beginItems(pass, no, Math.min(work.concurrency - before.open, left));",
    replace: "beginItems(pass, no, Math.min(work.concurrency, left));",
    why: "a list of a thousand hosts is worked on all at once",
  },
  {
    name: "paused queue handed out",
    file: "store/memory/transaction.ts",
    find: "lanePause(world, lane) === null",
    replace: "lanePause(world, lane) !== undefined",
    why: "agents are sent to a service that an operator has taken down",
  },
  {
    name: "low-water mark on a plain sequence",
    file: "store/memory/transactions.ts",
    find: "oldest: () => Math.min(...state.open),",
    replace: "oldest: () => Math.max(...state.open),",
    why: "claims pass over what was written by a transaction that began early and committed late",
  },
  ...PAGE_MUTANTS,
  ...SHARD_MUTANTS,
  ...LEAVING_MUTANTS,
  ...WATCHING_MUTANTS,
];
