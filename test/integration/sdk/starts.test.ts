/** Schedules that come together: which share a call, and what each caller gets. */
import { expect, onTestFinished, test } from "vitest";
import { type Call, createCall } from "../../../sdk/typescript/call.ts";
import { openChannel } from "../../../sdk/typescript/channel.ts";
import { noCodec } from "../../../sdk/typescript/codec.ts";
import { createStarts } from "../../../sdk/typescript/starts.ts";
import { givenServer } from "../../support/agent-script.ts";
import { status } from "../../support/fake-server.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const unavailable = 14;
const notFound = 5;
const alreadyExists = 6;

type Server = Awaited<ReturnType<typeof givenServer>>;
type BatchCall = Awaited<ReturnType<Server["scheduleBatch"]["next"]>>;

async function givenStarts() {
  const server = await givenServer();
  const clock = createManualClock();
  const channel = openChannel(server);
  onTestFinished(() => channel.close());
  const underWay = { now: 0, most: 0 };
  const real = createCall(channel, 30_000);
  const call: Call = async (...asked) => {
    underWay.most = Math.max(underWay.most, ++underWay.now);
    try {
      return await real(...asked);
    } finally {
      underWay.now -= 1;
    }
  };
  const starts = createStarts(call, "acme", noCodec, clock);
  const schedule = (key: string, signal?: AbortSignal) =>
    starts.schedule({ workflow: "w", key }, signal && { signal });
  const lonely = async () => {
    const started = schedule("lonely");
    const call = await server.schedule.next();
    call.answer({ runId: "r-lonely", created: true });
    return await started;
  };
  return { server, clock, underWay, starts, schedule, lonely };
}

const keysOf = ({ request }: BatchCall) => request.runs.map(({ key }) => key);
const resultOf = (key: string) => ({ status: {}, runId: `r-${key}`, created: true });
const answerAll = (call: BatchCall) => call.answer({ results: keysOf(call).map(resultOf) });
const keys = (count: number) => Array.from({ length: count }, (_, number) => `k${number}`);

test("schedules of one turn share a call, as many as it takes, and a lonely one goes out at once", async () => {
  const { server, schedule, lonely } = await givenStarts();
  expect(await lonely()).toEqual({ runId: "r-lonely", key: "lonely", created: true });
  const started = keys(250).map((key) => schedule(key));
  const full = [await server.scheduleBatch.next(), await server.scheduleBatch.next()];
  expect(full.map(keysOf)).toEqual([keys(250).slice(0, 100), keys(250).slice(100, 200)]);
  expect(full[0]?.request.namespace).toBe("acme");
  for (const call of full) answerAll(call);
  const rest = await server.scheduleBatch.next();
  expect(keysOf(rest)).toEqual(keys(250).slice(200));
  answerAll(rest);
  expect((await Promise.all(started)).map(({ runId }) => runId)).toEqual(
    keys(250).map((key) => `r-${key}`),
  );
});

test("what comes while a call is under way goes with the next one, after 250 ms of a slow one", async () => {
  const { server, clock, schedule } = await givenStarts();
  const first = schedule("first");
  const slow = await server.schedule.next();
  const others = ["a", "b"].map((key) => schedule(key));
  await clock.armed(250);
  clock.advance(249);
  others.push(schedule("c"));
  expect(await clock.armed(1)).toBeUndefined();
  clock.advance(1);
  const next = await server.scheduleBatch.next();
  expect(keysOf(next)).toEqual(["a", "b", "c"]);
  answerAll(next);
  expect(await Promise.all(others)).toHaveLength(3);
  slow.answer({ runId: "r-first", created: true });
  expect(await first).toMatchObject({ runId: "r-first" });
});

test("up to four calls are under way at a time", async () => {
  const { server, underWay, schedule, lonely } = await givenStarts();
  await lonely();
  const started = keys(600).map((key) => schedule(key));
  const calls = await Promise.all([1, 2, 3, 4].map(() => server.scheduleBatch.next()));
  for (const call of calls) answerAll(call);
  server.scheduleBatch.always(answerAll);
  expect(await Promise.all(started)).toHaveLength(600);
  expect(underWay.most).toBe(4);
});

test("starts that are not answered keep back no other for longer than a second", async () => {
  const { server, clock, schedule } = await givenStarts();
  const stuck = [];
  for (const key of keys(4)) {
    stuck.push([schedule(key), await server.schedule.next()] as const);
    clock.advance(250);
  }
  const fifth = schedule("fifth");
  const call = await server.schedule.next();
  call.answer({ runId: "r-fifth", created: true });
  expect(await fifth).toMatchObject({ runId: "r-fifth" });
  for (const [, held] of stuck) held.answer({ runId: "r", created: true });
  expect(await Promise.all(stuck.map(([started]) => started))).toHaveLength(4);
});

test("each caller gets what became of its own run, as if it had been alone", async () => {
  const { server, schedule, lonely } = await givenStarts();
  await lonely();
  const started = Promise.allSettled(["a", "b", "c"].map((key) => schedule(key)));
  const call = await server.scheduleBatch.next();
  call.answer({
    results: [
      resultOf("a"),
      { status: { ...status(alreadyExists, "KEY_REUSED"), message: "runs[1]: it is taken" } },
      { status: { ...status(3, "INVALID_REQUEST"), message: "runs[2].labels: too many" } },
    ],
  });
  expect(await started).toMatchObject([
    { value: { runId: "r-a", key: "a", created: true } },
    { reason: { code: "ALREADY_EXISTS", reason: "KEY_REUSED", message: "it is taken" } },
    { reason: { reason: "INVALID_REQUEST", message: "labels: too many" } },
  ]);
});

test("what may pass for one run is asked again for it alone", async () => {
  const { server, schedule, lonely } = await givenStarts();
  await lonely();
  const started = ["a", "b"].map((key) => schedule(key));
  const call = await server.scheduleBatch.next();
  call.answer({ results: [resultOf("a"), { status: status(unavailable, "STORE_UNAVAILABLE") }] });
  const again = await server.schedule.next();
  expect(again.request).toEqual(call.request.runs[1]);
  again.answer({ runId: "r-b", created: false });
  expect(await started[1]).toEqual({ runId: "r-b", key: "b", created: false });
});

test("a call that is refused as a whole is asked for each alone", async () => {
  const { server, schedule, lonely } = await givenStarts();
  await lonely();
  const started = Promise.allSettled(["good", "bad"].map((key) => schedule(key)));
  (await server.scheduleBatch.next()).fail(3, "INVALID_REQUEST");
  server.schedule.always((call) =>
    call.request.key === "good"
      ? call.answer({ runId: "r" })
      : call.fail(notFound, "WORKFLOW_NOT_FOUND"),
  );
  expect(await started).toMatchObject([
    { value: { runId: "r" } },
    { reason: { code: "NOT_FOUND", reason: "WORKFLOW_NOT_FOUND" } },
  ]);
});

test("a call without an answer is repeated as it was", async () => {
  const { server, schedule, lonely } = await givenStarts();
  await lonely();
  const started = ["a", "b"].map((key) => schedule(key));
  const first = await server.scheduleBatch.next();
  first.fail(unavailable, "STORE_UNAVAILABLE", 1);
  const second = await server.scheduleBatch.next();
  expect(second.request).toEqual(first.request);
  answerAll(second);
  expect((await Promise.all(started)).map(({ runId }) => runId)).toEqual(["r-a", "r-b"]);
});

test("a signal ends its own call at once, and not those of the others", async () => {
  const { server, schedule, lonely } = await givenStarts();
  await lonely();
  const ending = new AbortController();
  const waiting = schedule("a", ending.signal);
  const other = schedule("b");
  const third = schedule("c", ending.signal);
  ending.abort(new Error("the shop has closed"));
  await expect(waiting).rejects.toThrow("the shop has closed");
  await expect(third).rejects.toThrow("the shop has closed");
  const alone = await server.schedule.next();
  expect(alone.request.key).toBe("b");
  alone.answer({ runId: "r-b" });
  expect(await other).toMatchObject({ runId: "r-b" });

  const late = new AbortController();
  const under = schedule("d", late.signal);
  const way = schedule("e");
  const call = await server.scheduleBatch.next();
  late.abort(new Error("too late"));
  await expect(under).rejects.toThrow("too late");
  answerAll(call);
  expect(await way).toMatchObject({ runId: "r-e" });
});

test("a signal that has been aborted before, or a wrong spec, is refused before it is sent", async () => {
  const { starts, schedule } = await givenStarts();
  const over = AbortSignal.abort(new Error("no more"));
  await expect(schedule("a", over)).rejects.toThrow("no more");
  const input = () => undefined;
  await expect(starts.schedule({ workflow: "w", input })).rejects.toThrow(/no JSON form/);
});

test("what does not fit into one message goes out in two", async () => {
  const { server, starts, lonely } = await givenStarts();
  await lonely();
  const input = "x".repeat(200_000);
  const started = keys(20).map((key) => starts.schedule({ workflow: "w", key, input }));
  const first = await server.scheduleBatch.next();
  expect(keysOf(first)).toEqual(keys(15));
  answerAll(first);
  const second = await server.scheduleBatch.next();
  expect(keysOf(second)).toEqual(keys(20).slice(15));
  answerAll(second);
  expect(await Promise.all(started)).toHaveLength(20);
});
