// The mutants of what starts runs by itself and of supervision: schedules, triggers, regions,
// cordons and circuits.
import type { Mutant } from "./catalogue.ts";

export const WATCHING_MUTANTS: readonly Mutant[] = [
  {
    name: "caches retained over a change of incarnation",
    file: "plane/supervision.ts",
    find: "for (const kept of all) kept.forget();",
    replace: "void all;",
    why: "a server continues with plans and lanes that a fail-over has lost",
  },
  {
    name: "run started after an end that was lost",
    file: "scheduler/schedule.ts",
    find: "readIn === now && plans.isCurrent(laned)",
    replace: "readIn <= now && plans.isCurrent(laned)",
    why: "a server has read the end of a run, and a fail-over loses it before what follows begins",
    test: "test/unit/schedule.test.ts",
  },
  {
    name: "results taken one by one",
    file: "dispatch/dispatch.ts",
    find: "options.advance.admit(runs, () =>",
    replace: "((submit: () => Promise<readonly ResultAnswer[]>) => submit())(() =>",
    why: "a call that is refused for want of room has stored some of its results",
  },
  {
    name: "what a fail-over took is a defect",
    file: "api/calls/fail-overs.ts",
    find: "store.incarnation() === began || isAnswer(error)",
    replace: "store.incarnation() >= began || isAnswer(error)",
    why: "a call that knows an id of a lost tail is answered as a defect, with nothing to do next",
    test: "test/unit/fail-overs.test.ts",
  },
  {
    name: "failure recorded by a former owner",
    file: "store/memory/memory-store.ts",
    find: "if (!ownsStill(tables, actor.node, owned)) return;",
    replace: "void owned;",
    why: "a fenced supervisor records an action that was the next owner's to take",
  },
  {
    name: "supervisor refused as a caller is",
    file: "scheduler/advance.ts",
    find: "batcher.submitOwn({ run, event, actor, draw: random.fraction(), caller: null, audit: null }),",
    replace:
      "batcher.submit({ run, event, actor, draw: random.fraction(), caller: null, audit: null }),",
    why: "what is due waits for another scan each time that callers have filled the queue",
  },
  {
    name: "occurrence started twice at take-over",
    file: "scheduler/cron/start-occurrences.ts",
    find: `  if (rows.length + missed.length > 0) await tx.writeOccurrences([...missed, ...rows]);
  const moves = all.flatMap(({ record, due }) => (due ? [{ id: record.id, next: due.next }] : []));
  if (moves.length > 0) await tx.moveSchedules(moves);`,
    replace: `  const moves = all.flatMap(({ record, due }) => (due ? [{ id: record.id, next: due.next }] : []));
  void options.store
    .transact({ name: "move-on" }, async (later) => {
      await later.lockSchedules(moves.map(({ id }) => id), true);
      await later.writeOccurrences([...missed, ...rows]);
      await later.moveSchedules(moves);
    })
    .catch(() => undefined);`,
    why: "a run begins in one transaction and its schedule moves on in another, or never",
  },
  {
    name: "occurrence forgotten at take-over",
    file: "core/definition/calendar.ts",
    find: "const until = now - catchUpMs - jitterMs;",
    replace: "const until = now - Math.min(catchUpMs, 3_000);",
    why: "what came while no server was there to act is given up, and not caught up with",
  },
  {
    name: "schedule handled by a fenced owner",
    file: "scheduler/cron/start-occurrences.ts",
    find: "const fenced = await fencedOf(tx, items, WRITER_NUMBER, ({ schedule }) => schedule.partition);",
    replace: "const fenced = new Set<Item>([]);\n  void [fencedOf, WRITER_NUMBER];",
    why: "a supervisor that was fenced starts runs of a schedule in its old epoch",
  },
  {
    name: "time without an occurrence",
    file: "scheduler/cron/start-occurrences.ts",
    find: "if (rows.length + missed.length > 0) await tx.writeOccurrences([...missed, ...rows]);",
    replace: "if (missed.length > 0) await tx.writeOccurrences(missed);",
    why: "a backfill begins a second run of an occurrence that has one",
  },
  {
    name: "end settled before what it sets off",
    file: "integrations/triggers/run-ends.ts",
    find: "    if (rows.length === 0) return 0;\n",
    replace: `    if (rows.length === 0) return 0;
    await store.triggers.settle(rows.map(({ id }) => ({ id, again: false, began: null })));
`,
    why: "a server that dies in between has forgotten the end of the run",
  },
  {
    name: "end given up where the outcome is unknown",
    file: "integrations/triggers/run-ends.ts",
    find: 'again: came.kind === "again", began',
    replace: "again: false, began",
    why: "what could not be set off while the store was away never is",
  },
  {
    name: "end sets off without a key",
    file: "integrations/triggers/run-ends.ts",
    find: `input,
    key,
    labels,
    priority,
    notify: null,
    startAt: null,
    concurrency: null,
    // Of`,
    replace: `input,
    key: null,
    labels,
    priority,
    notify: null,
    startAt: null,
    concurrency: null,
    // Of`,
    why: "an end that is read twice begins two runs",
  },
  {
    name: "a part of a list taken for all of it",
    file: "dispatch/heartbeats.ts",
    find: "tries === 0 ? heartbeat : { ...heartbeat, reports, listsAllTo: 0 },",
    replace: "{ ...heartbeat, reports },",
    why: "a task whose lease was busy at the first try is taken from the agent that works on it",
  },
  {
    name: "list of all taken for polls to come",
    file: "store/memory/heartbeats.ts",
    find: "const isForgotten = pollSeq <= upTo && !listed.has(secret);",
    replace: "const isForgotten = upTo > 0 && pollSeq > 0 && !listed.has(secret);",
    why: "a heartbeat takes back a task that is in flight to its agent",
  },
  {
    name: "region ignored",
    file: "supervisor/ownership.ts",
    find: "return all.filter((one) => watched === null || watched.includes(regionOf(one)));",
    replace: "void [watched, regionOf];\n    return all;",
    why: "what is to be watched within its region is taken over by another one",
  },
  {
    name: "standby takes part",
    file: "supervisor/assignment.ts",
    find: "const active = watching.filter(({ standby }) => !standby);",
    replace: "const active = watching;",
    why: "a standby shares the work of the server that it backs up, and is no reserve",
  },
  {
    name: "cordon ignored",
    file: "dispatch/admission.ts",
    find: "if (of.cordoned.size > 0 && isCordoned(of, waiter)) return [];",
    replace: "if (of.cordoned.size > 99 && isCordoned(of, waiter)) return [];",
    why: "an agent that was taken out of work gets more of it",
  },
  {
    name: "all tasks try an open circuit",
    file: "dispatch/admission.ts",
    find: "if (tries.every((circuits) => circuits.length === 0)) return grants;",
    replace: "if (tries.length >= 0) return grants;",
    why: "a service that is down gets the whole backlog at once, each time that it is probed",
  },
  {
    name: "a probe without a result ends nothing",
    file: "supervisor/circuits.ts",
    find: 'if (state.kind !== "trying" || !probeEnd || override) return [];',
    replace: 'if (state.kind !== "trying" || probeEnd?.end !== "good" || override) return [];',
    why: "a circuit whose probe failed or was given back never closes, and its lane waits",
  },
  {
    name: "open circuit ignored",
    file: "dispatch/admission.ts",
    find: 'return flow(of, lane, "") !== "nothing" && flow(of, lane, agentId) !== "nothing";',
    replace: 'return flow(of, lane, agentId) !== "nothing";',
    why: "tasks go to a remote service that is known to be down",
  },
  {
    name: "signature unchecked",
    file: "api/trigger/trigger-route.ts",
    find: "if (authFailure) return listed(UNAUTHENTICATED, authFailure);",
    replace: "if (authFailure) listed(UNAUTHENTICATED, authFailure);",
    why: "any caller that knows the address of a trigger can trigger it",
  },
  {
    name: "a bad event takes its batch with it",
    file: "batching/batcher.ts",
    find: "if (batch.length === 1 || isStoreUnavailable(error)) {",
    replace: "if (batch.length >= 1) {",
    why: "one run whose passes always throw fails the events of all runs in one batch with it",
  },
  {
    name: "a task that cannot be made takes its claim with it",
    file: "dispatch/handed-task.ts",
    find: '    return { kind: "failed", error };',
    replace: "    throw error;",
    why: "one task that cannot be made withholds all tasks of its claim from their agents",
  },
  {
    name: "a failed row is tried at once",
    file: "supervisor/failed-rows.ts",
    find: "untilMs: nowMs + backoffMs,",
    replace: "untilMs: nowMs,",
    why: "what always fails is tried by each scan, and takes the capacity of others",
  },
  {
    name: "a failed row is never tried again",
    file: "supervisor/failed-rows.ts",
    find: "untilMs: nowMs + backoffMs,",
    replace: "untilMs: Number.POSITIVE_INFINITY,",
    why: "what failed once is never tried again, though its cause is gone",
  },
  {
    name: "two rows that failed beside each other count as two failures",
    file: "supervisor/failed-rows.ts",
    find: "if (known && known.untilMs > nowMs) {",
    replace: "if (known && known.untilMs === Number.NaN) {",
    why: "a row backs off for too long, and its history records failures that never happened",
    test: "test/unit/timers.test.ts",
  },
];
