// Faults of the network: cut in both or one direction, slow, reset, half closed, answers that are
// lost, calls that come twice.
import type { Chance } from "../../simulator/chance.ts";
import { type Fault, noting, pause } from "./fault.ts";
import type { Direction, FaultProxy, Weather } from "./fault-proxy.ts";
import type { Stage } from "./stage.ts";

const WAYS: readonly (readonly Direction[])[] = [[], ["there"], ["back"]];
const SLOW: readonly Partial<Weather>[] = [
  { delayMs: 200, jitterMs: 100 },
  { delayMs: 20, jitterMs: 400 },
  { sliceBytes: 1 },
  { bytesPerSecond: 8_000 },
];

interface Named {
  readonly name: string;
  readonly isServer: boolean;
  readonly proxies: readonly FaultProxy[];
}

function serverSide(kind: "servers" | "supervisors") {
  return (stage: Stage, chance: Chance): Named => {
    const { name } = chance.pick(stage[kind]);
    const proxy = stage.toDatabase.get(name);
    return { name, isServer: true, proxies: proxy ? [proxy] : [] };
  };
}

/** An agent from all servers. */
function oneAgent(stage: Stage, chance: Chance): Named {
  const { name } = chance.pick(stage.agents);
  const ways = stage.toServers.filter(({ caller }) => caller === name);
  return { name, isServer: false, proxies: ways.map(({ proxy }) => proxy) };
}

/** A server from all agents and clients. */
function oneServer(stage: Stage, chance: Chance): Named {
  const { name } = chance.pick(stage.servers);
  const ways = stage.toServers.filter(({ server }) => server === name);
  return { name, isServer: true, proxies: ways.map(({ proxy }) => proxy) };
}

type Pick = (stage: Stage, chance: Chance) => Named;

function cut(pick: Pick): Fault["act"] {
  return async (stage, chance) => {
    const { name, isServer, proxies } = pick(stage, chance);
    const ways = chance.pick(WAYS);
    const flaps = chance.happens(0.3) ? 3 : 1;
    for (let flap = 0; flap < flaps; flap++) {
      stage.recorder.fault({ kind: "network", did: "cut" }, name, isServer);
      for (const proxy of proxies) proxy.set({ swallows: true }, ...ways);
      await pause(chance.between(500, flaps > 1 ? 1_500 : 7_000));
      // In another order than they were cut in.
      for (const proxy of [...proxies].reverse()) proxy.heal();
      stage.recorder.fault({ kind: "network", did: "join" }, name, isServer);
      if (flap + 1 < flaps) await pause(chance.between(200, 800));
    }
  };
}

function slow(pick: Pick, isDatabase: boolean): Fault["act"] {
  return async (stage, chance) => {
    const { name, isServer, proxies } = pick(stage, chance);
    // The statements of a server are too many for a byte at a time.
    const weather = isDatabase ? (SLOW[chance.between(0, 1)] ?? {}) : chance.pick(SLOW);
    for (const proxy of proxies) proxy.set(weather);
    await noting(chance.between(2_000, 6_000), () =>
      isDatabase
        ? stage.recorder.fault({ kind: "store", did: "slow", of: name }, "store", false)
        : stage.recorder.fault({ kind: "network", did: "delayed" }, name, isServer),
    );
    for (const proxy of proxies) proxy.heal();
  };
}

async function broken(stage: Stage, chance: Chance): Promise<void> {
  const { name, proxies } = oneAgent(stage, chance);
  const how = chance.between(0, 2);
  stage.recorder.fault({ kind: "network", did: "cut" }, name, false);
  for (const proxy of proxies)
    if (how === 0) proxy.reset();
    else if (how === 1) proxy.halfClose();
    else proxy.set({ cutAfterBytes: chance.between(0, 3_000) });
  await pause(chance.between(500, 2_000));
  for (const proxy of proxies) proxy.heal();
  stage.recorder.fault({ kind: "network", did: "join" }, name, false);
}

async function answersLost(stage: Stage, chance: Chance): Promise<void> {
  stage.misfortune.lossShare = chance.pick([0.05, 0.1, 0.2]);
  await noting(chance.between(2_000, 5_000), () => {
    for (const caller of new Set(stage.toServers.map((one) => one.caller)))
      stage.recorder.fault({ kind: "network", did: "lost" }, caller, false);
  });
  stage.misfortune.lossShare = 0;
}

async function callsRepeated(stage: Stage, chance: Chance): Promise<void> {
  stage.misfortune.replayShare = chance.pick([0.1, 0.3, 0.5]);
  await pause(chance.between(2_000, 5_000));
  stage.misfortune.replayShare = 0;
}

/** Notifications of PostgreSQL to servers and supervisors. */
async function notificationsLost(stage: Stage, chance: Chance): Promise<void> {
  const proxies = [...stage.toDatabase.values()];
  for (const proxy of proxies) proxy.set({ dropsNotifications: true }, "back");
  await noting(chance.between(2_000, 6_000), () =>
    stage.recorder.fault({ kind: "notification", did: "lost" }, "all", false),
  );
  for (const proxy of proxies) proxy.set({ dropsNotifications: false }, "back");
}

export const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: "server cut from the database",
    of: ["F10"],
    scope: "servers",
    act: cut(serverSide("servers")),
  },
  {
    name: "supervisor cut from the database",
    of: ["F10"],
    scope: "supervisors",
    act: cut(serverSide("supervisors")),
  },
  { name: "server cut from its callers", of: ["F10"], scope: "servers", act: cut(oneServer) },
  { name: "agent cut off", of: ["F10"], scope: "agents", act: cut(oneAgent) },
  { name: "agent's network slow", of: ["F11"], scope: "agents", act: slow(oneAgent, false) },
  {
    name: "server's database slow",
    of: ["F11"],
    scope: "servers",
    act: slow(serverSide("servers"), true),
  },
  {
    name: "supervisor's database slow",
    of: ["F11"],
    scope: "supervisors",
    act: slow(serverSide("supervisors"), true),
  },
  { name: "agent's connections broken", of: ["F10", "F12"], scope: "agents", act: broken },
  { name: "answers lost", of: ["F12"], scope: "calls", act: answersLost },
  { name: "calls repeated", of: ["F13"], scope: "calls", act: callsRepeated },
  { name: "notifications lost", of: ["F21"], scope: "calls", act: notificationsLost },
];
