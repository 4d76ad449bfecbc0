/** Lost polls: asked for many sessions at once, and no call fails because of them. */
import { expect, it } from "vitest";
import { createLostPolls } from "../../server/dispatch/lost-polls.ts";
import type { LostPolls, SessionLease } from "../../server/store/heartbeats.ts";
import { createServerClock } from "../support/server-clock.ts";

/** Between two questions. */
const SPACING_MS = 250;
const LEASE: SessionLease = { runId: "run", partition: 0, step: 1, fence: 1, secret: "s" };

interface World {
  readonly undelivered?: (lost: readonly LostPolls[]) => Promise<readonly SessionLease[]>;
  readonly submit?: () => Promise<{ kind: "done" }>;
}

function world({ undelivered, submit = async () => ({ kind: "done" }) }: World) {
  const asked: (readonly LostPolls[])[] = [];
  const errors: unknown[] = [];
  const back: unknown[] = [];
  const clock = createServerClock();
  const lostPolls = createLostPolls({
    clock,
    isRetryable: () => false,
    onError: (error) => void errors.push(error),
    store: {
      undelivered(lost) {
        asked.push(lost);
        return undelivered?.(lost) ?? Promise.resolve([]);
      },
    },
    advance: {
      submit(run, event) {
        back.push([run.runId, event.kind]);
        return submit();
      },
    },
  });
  return { lostPolls, clock, asked, errors, back };
}

it("what many sessions name while a question is under way is asked in one statement", async () => {
  const first = Promise.withResolvers<readonly SessionLease[]>();
  const { lostPolls, clock, asked, back } = world({
    undelivered: (lost) => (lost.length === 1 ? first.promise : Promise.resolve([LEASE])),
  });
  const all = ["a", "b", "c", "d"].map((session) =>
    lostPolls.giveBack({ namespaceId: 1, session, polls: [1] }),
  );
  first.resolve([]);
  await all[0];
  clock.advance(SPACING_MS);
  await Promise.all(all);
  expect(asked.map((of) => of.map(({ session }) => session).join(" "))).toEqual(["a", "b c d"]);
  expect(back).toEqual([["run", "undelivered"]]);
});

it("a query that fails, and a lease that cannot be given back, fail no call", async () => {
  const away = new Error("the database is away");
  const asking = world({ undelivered: () => Promise.reject(away) });
  await asking.lostPolls.giveBack({ namespaceId: 1, session: "a", polls: [1] });
  expect(asking.errors).toEqual([away]);
  const held = new Error("another transaction holds the run");
  const giving = world({
    undelivered: () => Promise.resolve([LEASE]),
    submit: () => Promise.reject(held),
  });
  await giving.lostPolls.giveBack({ namespaceId: 1, session: "a", polls: [1] });
  expect(giving.errors).toEqual([held]);
});

it("without lost polls nothing is asked", async () => {
  const { lostPolls, asked } = world({});
  await lostPolls.giveBack({ namespaceId: 1, session: "a", polls: [] });
  expect(asked).toEqual([]);
});
