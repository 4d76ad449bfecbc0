/** How heartbeats are batched when many agents send them together, each with many tasks. */
import { expect, it } from "vitest";
import { createHeartbeats } from "../../server/dispatch/heartbeats.ts";
import type { HeartbeatsStored, SessionHeartbeat } from "../../server/store/heartbeats.ts";
import { createServerClock } from "../support/server-clock.ts";

const REPORTS = 1_000;
/** Between two gatherings that are not full. */
const SPACING_MS = 250;

function heartbeatOf(no: number, reports: number): SessionHeartbeat {
  return {
    namespaceId: 1,
    session: String(no).padStart(32, "0"),
    agentId: "a",
    agentVersion: "1",
    reports: Array.from({ length: reports }, (_, step) => ({
      runId: "",
      step,
      fence: 1,
      secret: "",
      progress: null,
      details: null,
    })),
  };
}

/** A store that answers a batch when the test lets it. */
function world() {
  const out: { readonly sent: readonly SessionHeartbeat[]; readonly answer: () => void }[] = [];
  const clock = createServerClock();
  const heartbeats = createHeartbeats({
    clock,
    isRetryable: () => false,
    onForgotten: () => undefined,
    store: {
      heartbeat: (sent) =>
        new Promise<HeartbeatsStored>((resolve) => {
          const answers = sent.map(({ reports }) =>
            reports.map(() => ({ kind: "carry-on", leaseMs: 1 }) as const),
          );
          const answer = () => resolve({ answers, forgotten: [], foreign: new Set() });
          out.push({ sent, answer });
        }),
    },
  });
  const next = async () => {
    const leaving = () => {
      clock.advance(SPACING_MS);
      return out.length;
    };
    await expect.poll(leaving).toBeGreaterThan(0);
    const gathering = out.shift();
    if (!gathering) throw new Error("no gathering is under way");
    return gathering;
  };
  return { heartbeats, out, next };
}

const reportsOf = (sent: readonly SessionHeartbeat[]) =>
  sent.reduce((sum, { reports }) => sum + reports.length, 0);

it("a gathering has no more reports than one statement can store in its time", async () => {
  const { heartbeats, next } = world();
  const all = Array.from({ length: 50 }, (_, no) => heartbeats.submit(heartbeatOf(no, REPORTS)));
  const sizes: number[] = [];
  while (sizes.reduce((a, b) => a + b, 0) < all.length * REPORTS) {
    const { sent, answer } = await next();
    sizes.push(reportsOf(sent));
    answer();
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(20_000);
  const answers = await Promise.all(all);
  expect(answers.map((of) => of.length)).toEqual(all.map(() => REPORTS));
});

it("a second gathering leaves beside a large one, and never with a session of it", async () => {
  const { heartbeats, out, next } = world();
  const first = heartbeats.submit(heartbeatOf(1, 1));
  const large = await next();
  const again = heartbeats.submit(heartbeatOf(1, 2));
  const other = heartbeats.submit(heartbeatOf(2, 1));
  const small = await next();
  expect(small.sent.map(({ session }) => Number(session))).toEqual([2]);
  small.answer();
  await other;
  expect(out).toEqual([]);
  large.answer();
  await first;
  (await next()).answer();
  expect(await again).toHaveLength(2);
});
