/** The roster: which agents call this server, told at once and then seldom. */
import { expect, test } from "vitest";
import { createRoster } from "../../server/dispatch/roster.ts";
import type { AgentSeen, SilentSession } from "../../server/store/operators.ts";

const AGENT = { id: "hotel", session: "ab".repeat(16), version: "1", labels: { zone: "b" } };
const POLL = { queues: ["travel"], tasks: [] };

function world() {
  const clock = { now: 1_000, monotonicMs: () => clock.now };
  const roster = createRoster(clock);
  const tell = async (): Promise<readonly AgentSeen[]> => {
    const told: AgentSeen[] = [];
    await roster.send(async (seen) => void told.push(...seen));
    return told;
  };
  return { clock, roster, tell };
}

test("an agent that is new is told at once, with what it asked for", async () => {
  const { clock, roster, tell } = world();
  roster.called(AGENT, 7, POLL);
  clock.now += 300;
  expect(await tell()).toEqual([
    {
      ...{ session: AGENT.session, namespaceId: 7, agentId: "hotel", agentVersion: "1" },
      ...{ labels: { zone: "b" }, poll: POLL, agoMs: 300, calledAgoMs: 300 },
      succeededAgoMs: null,
    },
  ]);
  expect(await tell()).toEqual([]);
});

test("an agent that goes on calling is told again after twenty seconds", async () => {
  const { clock, roster, tell } = world();
  roster.called(AGENT, 7, POLL);
  await tell();
  clock.now += 19_999;
  roster.called(AGENT, 7, null);
  expect(await tell()).toEqual([]);
  clock.now += 1;
  expect(await tell()).toMatchObject([{ poll: POLL, agoMs: 1 }]);
});

test("an agent whose poll is parked is there as long as that is", async () => {
  const { clock, roster, tell } = world();
  const leave = roster.parked(AGENT, 7, POLL);
  await tell();
  clock.now += 20_000;
  expect(await tell()).toMatchObject([{ agoMs: 0, calledAgoMs: 20_000 }]);
  clock.now += 5_000;
  leave(false);
  clock.now += 15_000;
  expect(await tell()).toMatchObject([{ agoMs: 15_000, calledAgoMs: 40_000 }]);
  clock.now += 20_000;
  expect(await tell()).toEqual([]);
});

test("a success is told with the next word of its agent", async () => {
  const { clock, roster, tell } = world();
  roster.called(AGENT, 7, null);
  await tell();
  roster.succeeded(AGENT);
  roster.succeeded({ ...AGENT, session: "nobody's" });
  clock.now += 20_000;
  expect(await tell()).toMatchObject([{ poll: null, succeededAgoMs: 20_000 }]);
});

test("an agent that was forgotten here says nothing of what it had asked for before", async () => {
  const { clock, roster, tell } = world();
  roster.called(AGENT, 7, POLL);
  await tell();
  clock.now += 20_000;
  await tell();
  roster.called(AGENT, 7, null);
  expect(await tell()).toMatchObject([{ poll: null, succeededAgoMs: null }]);
});

test("what could not be handed on comes again", async () => {
  const { roster, tell } = world();
  roster.called(AGENT, 7, POLL);
  const away = roster.send(() => Promise.reject(new Error("away")));
  await expect(away).rejects.toThrow("away");
  expect(await tell()).toHaveLength(1);
});

test("an agent that others take for silent is told at once, if it has called since", async () => {
  const { clock, roster, tell } = world();
  roster.parked(AGENT, 7, POLL);
  await tell();
  clock.now += 5_000;
  roster.silent([AGENT.session, "elsewhere"]);
  expect(await tell()).toEqual([]);
  roster.called(AGENT, 7, null);
  roster.silent([AGENT.session]);
  expect(await tell()).toMatchObject([{ calledAgoMs: 0 }]);
  roster.silent([AGENT.session]);
  expect(await tell()).toEqual([]);
});

test("a connection that went while a poll was parked is told once, unless its agent calls again", async () => {
  const { clock, roster } = world();
  const gone = async (): Promise<readonly SilentSession[]> => {
    const told: SilentSession[] = [];
    await roster.sendGone(async (silent) => void told.push(...silent));
    return told;
  };
  const [one, other] = [roster.parked(AGENT, 7, POLL), roster.parked(AGENT, 7, POLL)];
  one(true);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
  other(true);
  clock.now += 500;
  roster.called(AGENT, 7, null);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
  roster.parked(AGENT, 7, POLL)(true);
  expect(await gone()).toEqual([]);
  clock.now += 1_000;
  await expect(roster.sendGone(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await gone()).toEqual([{ kind: "gone", session: AGENT.session, agoMs: 1_000 }]);
  expect(await gone()).toEqual([]);
  roster.parked(AGENT, 7, POLL)(false);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
});

test("many agents are told in turns", async () => {
  const { roster, tell } = world();
  for (let n = 0; n < 4_500; n++) roster.called({ ...AGENT, session: String(n) }, 7, POLL);
  expect([await tell(), await tell(), await tell()].map((told) => told.length)).toEqual([
    4_000, 500, 0,
  ]);
});
