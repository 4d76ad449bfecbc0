// The end of a server, and callers that go away.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { fileURLToPath } from "node:url";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "@drover/proto/grpc/health/v1/health_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../server/clock.ts";
import type { PollAnswer, PollEnds } from "../../../server/dispatch/dispatcher.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import { AGENT, aborted, handedTask, RUN_ID, signal, startWorld, type World } from "./rpc-world.ts";

const { pollTask } = AgentService.method;
const { getRun, watchRun, waitRun } = SchedulerService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const jsonAgent = { id: "a", session: Buffer.alloc(16, 7).toString("base64") };

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

/** Polls park until their signal is aborted, then end with `ending`. */
function parkPolls(ending: () => PollAnswer = nothingCame) {
  const parked: PollEnds[] = [];
  let wake = () => {};
  world.dispatcher.poll = async (_request, ends) => {
    parked.push(ends);
    wake();
    await aborted(ends.over);
    return ending();
  };
  const count = async (many: number) => {
    while (parked.length < many)
      await new Promise<void>((go) => {
        wake = go;
      });
  };
  return { parked, count };
}

function nothingCame(): PollAnswer {
  return { tasks: [], waitedMs: 0 };
}

describe("a drain", () => {
  test("answers parked polls with an empty OK on both transports, then ends", async () => {
    const { count } = parkPolls();
    const polls = [1n, 2n, 3n].map((pollSeq) => grpc.unary(pollTask, { agent: AGENT, pollSeq }));
    const json = postJson(world.port, pollTask, { agent: jsonAgent, pollSeq: 4 });
    await count(4);
    await world.server.drain();
    for (const poll of polls) {
      const { code, answer } = await poll;
      expect([code, answer?.tasks]).toEqual([0, []]);
    }
    expect(await json).toMatchObject({ http: 200 });
  });

  test("takes a dispatcher that throws at the abort as an empty answer", async () => {
    const { count } = parkPolls(() => {
      throw new Error("aborted");
    });
    const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    await world.server.drain();
    expect((await poll).code).toBe(0);
  });

  test("hands over what had been granted by then", async () => {
    const { count, parked } = parkPolls(() => ({ tasks: [handedTask()], waitedMs: 1 }));
    const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    await world.server.drain();
    expect((await poll).answer?.tasks).toHaveLength(1);
    expect(parked.map(({ gone }) => gone.aborted)).toEqual([false]);
  });

  test("waits for calls in flight, refuses new ones, and reports NOT_SERVING meanwhile", async () => {
    const began = signal();
    const go = signal();
    const { findRun } = world.reads;
    world.reads.findRun = async (...given) => {
      began.resolve();
      await go.promise;
      return findRun(...given);
    };
    const watch = grpc.stream(Health.method.watch, { service: "drover.v1.AgentService" });
    await watch.count(1);
    const inFlight = grpc.unary(getRun, { run });
    await began.promise;
    const drained = world.server.drain();
    await watch.count(2);
    expect(watch.messages.map(({ status }) => status)).toEqual([
      Status.SERVING,
      Status.NOT_SERVING,
    ]);
    expect((await grpc.unary(Health.method.check, {})).answer?.status).toBe(Status.NOT_SERVING);
    const refused = { code: 14, reason: "DRAINING", retryMs: 1_000 };
    expect(await grpc.unary(getRun, { run })).toMatchObject(refused);
    expect(await postJson(world.port, getRun, { run: { runId: RUN_ID } })).toMatchObject(refused);
    const ready = await fetch(`http://127.0.0.1:${world.port}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, "draining\n"]);
    go.resolve();
    expect((await inFlight).code).toBe(0);
    expect((await watch.done).code).toBe(0);
    await drained;
    await expect(fetch(`http://127.0.0.1:${world.port}/healthz`)).rejects.toThrow();
  });

  describe("of a server that serves on first", () => {
    const LAME_DUCK_MS = 7_777;
    const over = signal();
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) =>
        ms === LAME_DUCK_MS
          ? Promise.race([over.promise, signal ? aborted(signal) : over.promise])
          : systemClock.sleep(ms, signal),
    };
    beforeEach(async () => {
      grpc.close();
      await world.close();
      world = await startWorld({ config: { lameDuckMs: LAME_DUCK_MS }, clock });
      grpc = grpcClient(world.port);
    });

    const getRunByJson = () =>
      fetch(`http://127.0.0.1:${world.port}/drover.v1.SchedulerService/GetRun`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ run: { runId: RUN_ID } }),
      });

    test("is not ready and takes all calls; then GOAWAY is sent, and calls in flight end", async () => {
      const { count } = parkPolls();
      const session = connect(`http://127.0.0.1:${world.port}`);
      const goaway = once(session, "goaway");
      expect((await getRunByJson()).headers.get("connection")).toBe("keep-alive");
      const drained = world.server.drain();
      const ready = await fetch(`http://127.0.0.1:${world.port}/readyz`);
      expect(ready.status).toBe(503);
      expect((await grpc.unary(Health.method.check, {})).answer?.status).toBe(Status.NOT_SERVING);
      const answer = await getRunByJson();
      expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
      const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
      await count(1);

      const began = signal();
      const go = signal();
      const { findRun } = world.reads;
      world.reads.findRun = async (...given) => {
        began.resolve();
        await go.promise;
        return findRun(...given);
      };
      const inFlight = grpc.unary(getRun, { run });
      await began.promise;
      over.resolve();
      const [code] = await goaway;
      expect(code).toBe(constants.NGHTTP2_NO_ERROR);
      expect((await poll).code).toBe(0);
      expect(await postJson(world.port, getRun, { run: { runId: RUN_ID } })).toMatchObject({
        reason: "DRAINING",
      });
      go.resolve();
      expect((await inFlight).code).toBe(0);
      await drained;
    });

    test("stop ends it at once", async () => {
      const drained = world.server.drain();
      await world.server.stop();
      await drained;
    });
  });

  test("ends a watch with DRAINING and a wait with what is known", async () => {
    const watch = grpc.stream(watchRun, { run });
    await watch.count(1);
    const waiting = signal();
    const { runChange } = world.scheduler;
    world.scheduler.runChange = (...given) => {
      waiting.resolve();
      return runChange(...given);
    };
    const wait = grpc.unary(waitRun, { run });
    await waiting.promise;
    const drained = world.server.drain();
    expect(await watch.done).toMatchObject({ code: 14, reason: "DRAINING", retryMs: 1_000 });
    expect(await wait).toMatchObject({ code: 0, answer: { ended: false } });
    await drained;
  });

  test("cuts what is left when the grace is over", async () => {
    grpc.close();
    await world.close();
    world = await startWorld({ config: { drainMs: 50 } });
    grpc = grpcClient(world.port);
    const began = signal();
    world.reads.findRun = () => {
      began.resolve();
      return new Promise(() => {});
    };
    const stuck = grpc.unary(getRun, { run });
    await began.promise;
    await world.server.drain();
    expect([1, 13, 14]).toContain((await stuck).code);
    expect(world.logged).toContain("the grace period of the drain is over: open calls are cut");
  });

  test("may be asked for twice, and stop after it and before it ends", async () => {
    const { count } = parkPolls();
    const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    await Promise.all([world.server.drain(), world.server.drain()]);
    await world.server.drain();
    await world.server.stop();
    await world.server.stop();
    expect((await poll).code).toBe(0);
  });

  test("stop alone cuts at once, parked polls included", async () => {
    const { count, parked } = parkPolls();
    const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    await world.server.stop();
    expect(parked[0]?.over.aborted).toBe(true);
    expect([0, 1, 14]).toContain((await poll).code);
  });
});

describe("a caller that goes away", () => {
  test("by a cancel: the poll's signal is aborted", async () => {
    const { count, parked } = parkPolls();
    const poll = grpc.open(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    poll.cancel();
    const [ended] = parked;
    if (ended) await aborted(ended.gone);
    expect((await poll.done).code).toBe(1);
  });

  test("by its deadline: the poll's signal is aborted", async () => {
    const { count, parked } = parkPolls();
    const poll = grpc.unary(
      pollTask,
      { agent: AGENT, pollSeq: 1n },
      { deadline: Date.now() + 1_100 },
    );
    await count(1);
    const [ended] = parked;
    if (ended) await aborted(ended.gone);
    expect((await poll).code).toBe(4);
  });

  test("by being killed: its parked poll is gone at once, so no task goes to a dead process", async () => {
    const { count, parked } = parkPolls();
    const program = fileURLToPath(new URL("../../support/idle-agent.ts", import.meta.url));
    const agent = spawn(process.execPath, [program, `127.0.0.1:${world.port}`], {
      stdio: "inherit",
    });
    await count(1);
    agent.kill("SIGKILL");
    const [ended] = parked;
    if (ended) await aborted(ended.gone);
    expect(ended?.gone.aborted).toBe(true);
  });

  test("by closing its connection, on both transports", async () => {
    const { count, parked } = parkPolls();
    const poll = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await count(1);
    grpc.close();
    const leave = new AbortController();
    const json = fetch(`http://127.0.0.1:${world.port}/drover.v1.AgentService/PollTask`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: jsonAgent, pollSeq: 2 }),
      signal: leave.signal,
    });
    const left = expect(json).rejects.toThrow();
    await count(2);
    leave.abort();
    await left;
    await Promise.all(parked.slice(1).map(({ gone }) => aborted(gone)));
    await world.server.stop();
    await Promise.all(parked.map(({ over }) => aborted(over)));
    await poll;
  });

  test("in the middle of a watch: nothing is left waiting", async () => {
    const waits: AbortSignal[] = [];
    const { runChange } = world.scheduler;
    const parked = signal();
    world.scheduler.runChange = (found, version, ended) => {
      waits.push(ended);
      parked.resolve();
      return runChange(found, version, ended);
    };
    const watch = grpc.stream(watchRun, { run });
    await parked.promise;
    watch.cancel();
    await Promise.all(waits.map(aborted));
    expect((await watch.done).code).toBe(1);
  });

  test("a poll that was answered is not aborted afterwards", async () => {
    let seen: AbortSignal | null = null;
    world.dispatcher.poll = async (_request, { gone }) => {
      seen = gone;
      return nothingCame();
    };
    await grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await grpc.unary(Health.method.check, {});
    expect(seen).toMatchObject({ aborted: false });
  });
});
