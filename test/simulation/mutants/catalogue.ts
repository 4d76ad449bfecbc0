// The server with one thing wrong, by name. The simulator must notice each: an instrument that lets
// one of them through would let the real mistake through too.
//
// A mutant is a piece of a source file and what stands there instead. The piece must be in the file
// exactly once; a test keeps that true, so a mutant cannot rot away unseen.

export interface Mutant {
  readonly name: string;
  /** Below server/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** What goes wrong in the world because of it. */
  readonly why: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "fence unchecked",
    file: "core/on-report.ts",
    find: `moving?.kind === "LEASED" && moving.fence === report.fence && moving.task === report.task) {
    if (moving.secret !== report.secret) return { kind: "no-such-task" };`,
    replace: `moving?.kind === "LEASED" && moving.task === report.task) {`,
    why: "a report of an attempt that was replaced ends the one that replaced it",
  },
  {
    name: "writer row not locked",
    file: "scheduler/advance.ts",
    find: "if (!(await tx.holdWriter(writer))) fenced.add(node);",
    replace: "void writer;",
    why: "a supervisor that was fenced goes on acting in its old epoch",
  },
  {
    name: "acknowledged before the commit",
    file: "flights.ts",
    find: "for (const passenger of board) passenger.reject(told);",
    replace: 'for (const passenger of board) passenger.resolve({ kind: "done" } as never);',
    why: "a report is acknowledged whose transaction has failed",
  },
  {
    name: "due row forgotten",
    file: "store/memory/write.ts",
    find: "for (const { step, due } of changes.dueNew) tables.due.insert({ runId, partition, step, due });",
    replace: "",
    why: "nothing ever wakes a step that backs off",
  },
  {
    name: "notification the only wake-up",
    file: "beat.ts",
    find: "if (pulse.lanes.length > 0) options.claims.look(pulse.lanes);",
    replace: "",
    why: "a ready task and a waiting agent miss each other when a notification is lost",
  },
  {
    name: "successor activated twice",
    file: "core/on-task-end.ts",
    find: 'if (forward.kind === "BLOCKED" && forward.waitingFor === 0)',
    replace: 'if (forward.kind === "BLOCKED" && forward.waitingFor <= 1)',
    why: "a step is made ready by each of its needs, and not by the last",
  },
  {
    name: "compensation before a cancelled attempt has settled",
    file: "core/saga.ts",
    find: `case "STOPPING":
      if (run.moving > 0) return null;`,
    replace: 'case "STOPPING":',
    why: "a step is undone while an agent may still be doing it",
  },
  {
    name: "compensation without settle",
    file: "core/saga.ts",
    find: "if (state.settleUntil !== null && state.settleUntil > now) return null;",
    replace: "",
    why: "a step is undone while a lost agent may still be in its last call",
  },
  {
    name: "retry over budget",
    file: "core/ladder.ts",
    find: "if (!policy || tries >= policy.attempts) {",
    replace: "if (!policy || tries > policy.attempts) {",
    why: "a step is tried once more than its policy allows",
  },
  {
    name: "idempotency key stored after the run",
    file: "scheduler/schedule.ts",
    find: 'if (holder && holder.runId !== runId) return known(holder, digest, key ?? "");',
    replace: "void holder; void known; void digest;",
    why: "a repeated Schedule starts a second run",
  },
  {
    name: "heartbeat lost at take-over",
    file: "scheduler/advance.ts",
    find: "const lastBeatAt = session === null ? null : (beats.get(session) ?? null);",
    replace: "const lastBeatAt = beats.size < 0 ? 0 : null;",
    why: "an agent that beats is declared lost, since its supervisor does not know its beats",
  },
  {
    name: "a lease given back because a heartbeat did not list it",
    file: "dispatch/dispatch.ts",
    find: `async heartbeat(request) {
      await giveBackLost(request.agent.session, request.lostPolls);`,
    replace: `async heartbeat(request) {
      await giveBackLost(request.agent.session, request.lostPolls);
      const listed = new Set(request.reports.map(({ token }) => token.secret));
      const polls = Array.from({ length: 500 }, (_, n) => n + 1);
      const held = await store.undelivered(request.agent.session, polls);
      const unlisted = held.filter(({ secret }) => !listed.has(secret));
      await Promise.all(
        unlisted.map((lease) => options.advance.submit(lease, { kind: "undelivered", ...lease })),
      );`,
    why: "a task is handed to a second agent while the first works on it",
  },
];

/** Mutants that the engine has no place for yet, with what must come first. */
export const NOT_YET: Readonly<Record<string, string>> = {
  "unknown retried on once": "effects: once",
  "verify skipped": "verify",
  "verify without settle": "verify",
  "task id reused after failover": "a store that fails over and has lost its tail",
  "pause ignored": "pause",
  "cancel not inherited by a child": "child runs",
  "low-water mark on a plain sequence": "the low-water mark of claims",
  "limit counted without its lock": "limits of lanes and keys",
  "one idempotency key over two strategies": "fallbacks",
};
