/** An agent with two addresses: one server is dead, killed or frozen, or both are away. */
import assert from "node:assert/strict";
import { freeAddress } from "../../support/free-address.ts";
import { until } from "../../support/until.ts";
import { assertOutput, type Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import type { Pipes } from "../wire-pipes.ts";

/** Far below what ends a call or a connection by itself: the deadline of a poll, 12 s here. */
const goneOnMsMax = 9_000;
/** Of an outage; gRPC's own waits, which double up to two minutes, would take longer. */
const attemptsMsMax = 45_000;
const attemptsLeast = 8;
/** The longest wait of an agent, and of a connection, is 5 s. */
const backMsMax = 20_000;

const notForStubs = "several addresses are an SDK's";

/** Starts the agent with two addresses; the poll that then waits, at one of the two. */
async function startWithTwo(stage: Stage) {
  const { wire } = stage;
  const both: readonly Pipes[] = [wire, await wire.beside()];
  const polling = wire.poll.next();
  await stage.start({ address: both.map(({ address }) => address).join(",") });
  const poll = await polling;
  void poll.pass();
  const [own, other] = poll.way === 0 ? both : [...both].reverse();
  if (own === undefined || other === undefined) throw new Error("there are two addresses");
  return { poll, own, other };
}

/** A run is done, and the agent polls again, within this time. */
async function worksWithin(stage: Stage, ms: number): Promise<void> {
  const polls = stage.wire.poll.calls.length;
  const runId = await stage.begin({ perform: [[{ success: "done" }]] });
  const ended = stage.end(runId);
  let isOver = false;
  ended.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  await until("the run has ended", () => isOver || null, ms);
  assertOutput(await ended, "done");
  await until("a poll arrives", () => stage.wire.poll.calls.length > polls || null, ms);
}

export const severalAddresses: readonly Scenario[] = [
  {
    name: "first-address-dead",
    guarantee: "Of two addresses, nothing listens at the first: the agent works with the other.",
    notForStubs,
    async play(stage) {
      await stage.start({ address: `${await freeAddress()},${stage.wire.address}` });
      await worksWithin(stage, goneOnMsMax);
      await worksWithin(stage, goneOnMsMax);
    },
  },
  {
    name: "one-server-killed",
    guarantee:
      "Of two servers, the one where a poll waits is killed: the agent polls at the other, names the poll as lost, and uses the server again when it is back.",
    notForStubs,
    async play(stage) {
      const { poll, own, other } = await startWithTwo(stage);
      own.leave();
      await poll.gone;
      await worksWithin(stage, goneOnMsMax);
      const { pollSeq } = poll.request;
      const naming = stage.wire.poll.calls.filter(({ request }) =>
        request.lostPolls.includes(pollSeq),
      );
      assert.notEqual(naming.length, 0, "the poll that was cut off is not named as lost");
      const before = own.attempts();
      own.comeBack();
      await until("there is a connection again", () => own.attempts() > before || null);
      other.leave();
      await worksWithin(stage, backMsMax);
    },
  },
  {
    name: "one-server-frozen",
    guarantee:
      "Of two servers, one freezes without a sign: the agent goes on at the other within seconds, and uses the server again when it moves.",
    notForStubs,
    async play(stage) {
      const { own, other } = await startWithTwo(stage);
      own.freeze();
      await worksWithin(stage, goneOnMsMax);
      await worksWithin(stage, goneOnMsMax);
      own.flow();
      await worksWithin(stage, goneOnMsMax);
      other.freeze();
      await worksWithin(stage, backMsMax);
      await worksWithin(stage, goneOnMsMax);
    },
  },
  {
    name: "both-servers-away",
    guarantee:
      "Two servers are away for long: the agent tries both at short intervals, and works when they are back.",
    notForStubs,
    async play(stage) {
      const { own, other } = await startWithTwo(stage);
      await worksWithin(stage, goneOnMsMax);
      const both = [own, other];
      for (const { leave } of both) leave();
      const before = both.map(({ attempts }) => attempts());
      await until(
        "both are tried again and again",
        () => both.every((one, at) => one.attempts() - (before[at] ?? 0) >= attemptsLeast) || null,
        attemptsMsMax,
      );
      for (const { comeBack } of both) comeBack();
      await worksWithin(stage, backMsMax);
    },
  },
];
