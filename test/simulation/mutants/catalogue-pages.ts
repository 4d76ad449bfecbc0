// The mutants of how a run is stored: pages, what is derived from them, and heartbeats.
import type { Mutant } from "./catalogue.ts";

export const PAGE_MUTANTS: readonly Mutant[] = [
  {
    name: "timer of a backoff forgotten",
    file: "core/page/derived-rows.ts",
    find: 'if (!state || state.kind === "HELD") continue;',
    replace: 'if (!state || state.kind === "HELD" || state.kind === "BACKOFF") continue;',
    why: "nothing ever wakes a step that backs off",
  },
  {
    name: "wake-up stored too late",
    file: "core/page/derived-rows.ts",
    find: "return Math.min(stored, wakeAt);",
    replace: "return Math.max(stored, wakeAt);",
    why: "a timer that is set before the one that is stored comes when that one does",
  },
  {
    name: "page written with the loaded steps alone",
    file: "core/page/apply-pass.ts",
    find: "steps = new Map(pages.get(no)?.steps);",
    replace: `steps = new Map(
        [...(pages.get(no)?.steps ?? [])].filter(([place]) => before.steps.has(place)),
      );`,
    why: "what other passes have done to steps of the same page is lost",
  },
  {
    name: "page written over a newer one",
    file: "store/memory/write.ts",
    find: "const applied = applyPass(pagesFor(tables, record), { ...record, endedAt: ends ? now : null });",
    replace: `const all = ((globalThis as any).pagesRead ??= new WeakMap());
  if (!all.has(tables)) all.set(tables, new Map());
  const read = all.get(tables).get(head.runId);
  const isFresh = read && Math.abs(now - read.at) < 100;
  const pages = new Map([...pagesFor(tables, record), ...(isFresh ? read.pages : [])]);
  if (!isFresh) all.get(tables).set(head.runId, { at: now, pages });
  const applied = applyPass(pages, { ...record, endedAt: ends ? now : null });`,
    why: "a pass that was decided on a page of a cache takes back what was written since",
  },
  {
    name: "heartbeat writes back an old page",
    file: "store/memory/heartbeats.ts",
    find: "const row = tables.page.get(pageKey(runId, pageNoOf(stepKey)));",
    replace: `const all = ((globalThis as any).pagesOfHeartbeats ??= new WeakMap());
  if (!all.has(tables)) all.set(tables, new Map());
  const stored = tables.page.get(pageKey(runId, pageNoOf(stepKey)));
  const read = all.get(tables).get(pageKey(runId, pageNoOf(stepKey)));
  const isFresh = read && Math.abs(now - read.at) < 1_000;
  const row = isFresh ? read.stored : stored;
  if (!isFresh) all.get(tables).set(pageKey(runId, pageNoOf(stepKey)), { at: now, stored });`,
    why: "a step that was done is with its agent again, since another one sends heartbeats",
  },
  {
    name: "ready row of a task that is given back forgotten",
    file: "core/page/derived-rows.ts",
    find: "if (readyIs) changes.readyNew.push(readyIs);",
    replace: "if (readyIs && !(was && leaseOf(was))) changes.readyNew.push(readyIs);",
    why: "no claim ever finds a task that its first agent never got",
  },
  {
    name: "lease row of an undo forgotten",
    file: "core/page/derived-rows.ts",
    find: 'return state?.kind === "LEASED"',
    replace: 'return state?.kind === "LEASED" && state.task !== "compensate"',
    why: "no server notices that an agent which undoes a step has fallen silent",
  },
  {
    name: "cancel not written to the lease row",
    file: "core/page/derived-rows.ts",
    find: "changes.leasesCancelled.push(leaseIs);",
    replace: "void leaseIs;",
    why: "an agent that reports nothing new of its task never learns that it should stop",
  },
  {
    name: "sessions not watched",
    file: "supervisor/silent-sessions.ts",
    find: "silenceCountsSince: () => new Map([...silenceCountsSince].filter(([one]) => !fresh.has(one))),",
    replace: "silenceCountsSince: () => new Map<number, EpochMs>(),",
    why: "an agent that has fallen silent holds its task until its attempt has no time left",
  },
];
