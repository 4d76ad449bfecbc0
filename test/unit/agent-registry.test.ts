/** The agent registry: which agents call this server, reported at once and then seldom. */
import { expect, test } from "vitest";
import { createAgentRegistry } from "../../server/dispatch/agent-registry.ts";
import type { AgentSeen, SilentSession } from "../../server/store/operators.ts";

const AGENT = { id: "hotel", session: "ab".repeat(16), version: "1", labels: { zone: "b" } };
const POLL = { queues: ["travel"], tasks: [] };

function world() {
  const clock = { now: 1_000, monotonicMs: () => clock.now };
  const agentRegistry = createAgentRegistry(clock);
  const sendSeen = async (): Promise<readonly AgentSeen[]> => {
    const sent: AgentSeen[] = [];
    await agentRegistry.send(async (seen) => void sent.push(...seen));
    return sent;
  };
  return { clock, agentRegistry, sendSeen };
}

test("an agent that is new is reported at once, with what it asked for", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  agentRegistry.called(AGENT, 7, POLL);
  clock.now += 300;
  expect(await sendSeen()).toEqual([
    {
      session: AGENT.session,
      namespaceId: 7,
      agentId: "hotel",
      agentVersion: "1",
      labels: { zone: "b" },
      poll: POLL,
      agoMs: 300,
      calledAgoMs: 300,
      succeededAgoMs: null,
    },
  ]);
  expect(await sendSeen()).toEqual([]);
});

test("an agent that continues calling is reported again after twenty seconds", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  agentRegistry.called(AGENT, 7, POLL);
  await sendSeen();
  clock.now += 19_999;
  agentRegistry.called(AGENT, 7, null);
  expect(await sendSeen()).toEqual([]);
  clock.now += 1;
  expect(await sendSeen()).toMatchObject([{ poll: POLL, agoMs: 1 }]);
});

test("an agent whose poll is parked is there as long as that is", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  const leave = agentRegistry.parked(AGENT, 7, POLL);
  await sendSeen();
  clock.now += 20_000;
  expect(await sendSeen()).toMatchObject([{ agoMs: 0, calledAgoMs: 20_000 }]);
  clock.now += 5_000;
  leave(false);
  clock.now += 15_000;
  expect(await sendSeen()).toMatchObject([{ agoMs: 15_000, calledAgoMs: 40_000 }]);
  clock.now += 20_000;
  expect(await sendSeen()).toEqual([]);
});

test("what an agent states of its process is reported until it states something else", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  const process = { host: "pc-7", pid: 12, capacity: 4, startedAgoMs: 500, clockAheadMs: 0 };
  agentRegistry.parked(AGENT, 7, POLL, process)(false);
  clock.now += 300;
  expect(await sendSeen()).toMatchObject([{ process: { ...process, startedAgoMs: 800 } }]);
  clock.now += 20_000;
  agentRegistry.called(AGENT, 7, null);
  expect(await sendSeen()).toMatchObject([{ process: { ...process, startedAgoMs: 20_800 } }]);
});

test("a success is reported with the next call of its agent", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  agentRegistry.called(AGENT, 7, null);
  await sendSeen();
  agentRegistry.succeeded(AGENT);
  agentRegistry.succeeded({ ...AGENT, session: "unknown" });
  clock.now += 20_000;
  expect(await sendSeen()).toMatchObject([{ poll: null, succeededAgoMs: 20_000 }]);
});

test("an agent that was forgotten here is reported without what it had asked for before", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  agentRegistry.called(AGENT, 7, POLL);
  await sendSeen();
  clock.now += 20_000;
  await sendSeen();
  agentRegistry.called(AGENT, 7, null);
  expect(await sendSeen()).toMatchObject([{ poll: null, succeededAgoMs: null }]);
});

test("what could not be handed on comes again", async () => {
  const { agentRegistry, sendSeen } = world();
  agentRegistry.called(AGENT, 7, POLL);
  const away = agentRegistry.send(() => Promise.reject(new Error("away")));
  await expect(away).rejects.toThrow("away");
  expect(await sendSeen()).toHaveLength(1);
});

test("an agent that others take for silent is reported at once, if it has called since", async () => {
  const { clock, agentRegistry, sendSeen } = world();
  agentRegistry.parked(AGENT, 7, POLL);
  await sendSeen();
  clock.now += 5_000;
  agentRegistry.silent([AGENT.session, "elsewhere"]);
  expect(await sendSeen()).toEqual([]);
  agentRegistry.called(AGENT, 7, null);
  agentRegistry.silent([AGENT.session]);
  expect(await sendSeen()).toMatchObject([{ calledAgoMs: 0 }]);
  agentRegistry.silent([AGENT.session]);
  expect(await sendSeen()).toEqual([]);
});

test("a connection that closed on a parked poll is reported once, unless its agent calls again", async () => {
  const { clock, agentRegistry } = world();
  const gone = async (): Promise<readonly SilentSession[]> => {
    const sent: SilentSession[] = [];
    await agentRegistry.sendGone(async (silent) => void sent.push(...silent));
    return sent;
  };
  const one = agentRegistry.parked(AGENT, 7, POLL);
  const other = agentRegistry.parked(AGENT, 7, POLL);
  one(true);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
  other(true);
  clock.now += 500;
  agentRegistry.called(AGENT, 7, null);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
  agentRegistry.parked(AGENT, 7, POLL)(true);
  expect(await gone()).toEqual([]);
  clock.now += 1_000;
  await expect(agentRegistry.sendGone(() => Promise.reject(new Error("away")))).rejects.toThrow(
    "away",
  );
  expect(await gone()).toEqual([{ kind: "gone", session: AGENT.session, agoMs: 1_000 }]);
  expect(await gone()).toEqual([]);
  agentRegistry.parked(AGENT, 7, POLL)(false);
  clock.now += 5_000;
  expect(await gone()).toEqual([]);
});

test("many agents are reported in turns", async () => {
  const { agentRegistry, sendSeen } = world();
  for (let n = 0; n < 4_500; n++) agentRegistry.called({ ...AGENT, session: String(n) }, 7, POLL);
  expect([await sendSeen(), await sendSeen(), await sendSeen()].map((sent) => sent.length)).toEqual(
    [4_000, 500, 0],
  );
});
