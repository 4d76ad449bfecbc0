/** Reports and the poll that they carry: whichever ends first, each failure is noticed. */
import { expect, it, onTestFinished } from "vitest";
import { createAgentRegistry } from "../../server/dispatch/agent-registry.ts";
import { createDispatch } from "../../server/dispatch/dispatch.ts";
import { createWaiters } from "../../server/dispatch/waiters.ts";
import { DroverError } from "../../server/errors.ts";
import type { Advanced } from "../../server/scheduler/advance.ts";
import { createServerClock } from "../support/server-clock.ts";

const NAMESPACE = { id: 1, name: "default", region: 0 };
const LANE = 7;
const RUN_ID = "01890000-0000-7000-8000-000000000000";

/** What would have ended a process that listens to nothing. */
function unhandledRejections(): readonly unknown[] {
  const unhandled: unknown[] = [];
  const collect = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", collect);
  onTestFinished(() => void process.off("unhandledRejection", collect));
  return unhandled;
}

it("a carried poll that fails while its reports are under way ends nothing, and is noticed after them", async () => {
  const unhandled = unhandledRejections();
  const flushed = Promise.withResolvers<Advanced>();
  const waiters = createWaiters();
  const clock = createServerClock();
  const dispatch = createDispatch({
    clock,
    waiters,
    advance: {
      ask: () => flushed.promise,
      submit: () => flushed.promise,
      admit: (_, submit) => submit(),
    },
    scan: async () => undefined,
    lanes: { of: async () => [{ lane: LANE, weight: 1 }], mayGrow: () => false },
    agentRegistry: createAgentRegistry(clock),
    heartbeats: { submit: async () => [], idle: async () => undefined },
    lostPolls: { giveBack: async () => undefined },
    onError: () => undefined,
  });
  const token = {
    namespace: "default",
    runId: RUN_ID,
    step: 0,
    task: "perform",
    fence: 1,
  } as const;
  const answer = dispatch.complete(
    {
      namespace: NAMESPACE,
      agent: { id: "one", version: "", session: "s1" },
      results: [{ token: { ...token, secret: "" }, outcome: { kind: "released" }, digest: "" }],
      next: { pollSeq: 1, queues: [{ name: "default", weight: 1 }], tasks: ["a"], maxTasks: 1 },
    },
    new AbortController().signal,
  );
  await new Promise((go) => setImmediate(go));
  const [carried] = waiters.all();
  if (!carried) throw new Error("no poll is carried");
  waiters.fail(carried, new Error("what it was granted cannot be read"));
  await new Promise((go) => setImmediate(go));
  expect(unhandled).toEqual([]);
  flushed.resolve({ kind: "done" });
  await expect(answer).rejects.toThrow("what it was granted cannot be read");
});

it("a call whose results have no room is refused before any of them is submitted", async () => {
  const clock = createServerClock();
  let submitted = 0;
  const dispatch = createDispatch({
    clock,
    waiters: createWaiters(),
    agentRegistry: createAgentRegistry(clock),
    advance: {
      async ask() {
        submitted++;
        return { kind: "done" };
      },
      submit: () => Promise.reject(new Error("nothing is given back")),
      admit(runs, submit) {
        if (runs.length > 1) throw new DroverError("OVERLOADED", "20000 calls wait already");
        return submit();
      },
    },
    scan: async () => undefined,
    lanes: { of: async () => [], mayGrow: () => false },
    heartbeats: { submit: async () => [], idle: async () => undefined },
    lostPolls: { giveBack: async () => undefined },
    onError: () => undefined,
  });
  const results = [0, 1].map((step) => ({
    token: {
      ...({ namespace: "default", runId: RUN_ID, task: "perform", fence: 1 } as const),
      step,
      secret: "",
    },
    ...({ outcome: { kind: "released" }, digest: "" } as const),
  }));
  const complete = (some: typeof results) =>
    dispatch.complete(
      {
        namespace: NAMESPACE,
        agent: { id: "one", version: "", session: "s1" },
        results: some,
        next: null,
      },
      new AbortController().signal,
    );
  await expect(complete(results)).rejects.toMatchObject({ reason: "OVERLOADED" });
  expect(submitted).toBe(0);
  await expect(complete(results.slice(1))).resolves.toMatchObject({
    answers: [{ kind: "accepted" }],
  });
});
