// Faults of servers, supervisors and agents: killed, frozen, asked to drain, blocked, all restarted
// at once.
import type { Chance } from "../../simulator/chance.ts";
import { type Fault, pause, type Scope } from "./fault.ts";
import type { Managed } from "./processes.ts";
import type { Stage } from "./stage.ts";

const DRAIN_MS_MAX = 30_000;
/** The lease of each task of the workload. */
const LEASE_MS = 3_000;
const LEASES: readonly number[] = [0.5, 1, 3];
/** Its days and hours are others then; no promise depends on them. */
const JUMPS_MS: readonly number[] = [-86_400_000, -3_600_000, 5_000, 3_600_000];

type Some = Extract<Scope, "servers" | "supervisors" | "agents">;

const one =
  (of: Some, act: (managed: Managed, chance: Chance) => Promise<void>): Fault["act"] =>
  (stage, chance) =>
    act(chance.pick(stage[of]), chance);

async function killed(managed: Managed, chance: Chance): Promise<void> {
  await managed.kill();
  await pause(chance.between(100, 2_500));
  await managed.start();
}

async function frozen(managed: Managed, chance: Chance): Promise<void> {
  managed.freeze();
  await pause(LEASE_MS * chance.pick(LEASES));
  managed.resume();
}

async function drained(managed: Managed, chance: Chance): Promise<void> {
  await managed.drain(DRAIN_MS_MAX);
  await pause(chance.between(0, 1_000));
  await managed.start();
}

async function blocked(managed: Managed, chance: Chance): Promise<void> {
  await managed.block(chance.pick([500, 2_000, 5_000]));
}

/** Its wall clock jumps, and jumps back. */
const clockJumps =
  (of: "servers" | "supervisors"): Fault["act"] =>
  async (stage, chance) => {
    const { name } = chance.pick(stage[of]);
    const preloaded = stage.preloaded.get(name);
    if (!preloaded) throw new Error(`nothing is preloaded into ${name}`);
    preloaded.order({ clockMs: chance.pick(JUMPS_MS) });
    await pause(chance.between(2_000, 6_000));
    preloaded.order({});
  };

async function killedTogether(all: readonly Managed[], ms: number): Promise<void> {
  await Promise.all(all.map((managed) => managed.kill()));
  await pause(ms);
  await Promise.all(all.map((managed) => managed.start()));
}

/** At the moment at which a transaction commits: before COMMIT has left, or after it. */
async function killedAtCommit(stage: Stage, chance: Chance): Promise<void> {
  const server = chance.pick(stage.servers);
  const proxy = stage.toDatabase.get(server.name);
  if (!proxy) throw new Error(`${server.name} has no way to the database`);
  const isBefore = chance.happens(0.5);
  const overdue = pause(3_000);
  const seen = new Promise<void>((resolve) => {
    proxy.onText("commit", () => {
      if (isBefore) proxy.set({ swallows: true }, "there");
      resolve();
    });
  });
  await Promise.race([seen, overdue]);
  await server.kill();
  proxy.reset();
  proxy.heal();
  await pause(chance.between(100, 1_000));
  await server.start();
}

export const PROCESS_FAULTS: readonly Fault[] = [
  { name: "server killed", of: ["F1"], scope: "servers", act: one("servers", killed) },
  { name: "server killed at a commit", of: ["F1", "F2"], scope: "servers", act: killedAtCommit },
  {
    name: "all servers killed",
    of: ["F1", "F23"],
    scope: "servers",
    act: (stage, chance) => killedTogether(stage.servers, chance.between(200, 1_500)),
  },
  { name: "server frozen", of: ["F5"], scope: "servers", act: one("servers", frozen) },
  { name: "server drained", of: ["F31"], scope: "servers", act: one("servers", drained) },
  { name: "server blocked", of: ["F29"], scope: "servers", act: one("servers", blocked) },
  { name: "supervisor killed", of: ["F3"], scope: "supervisors", act: one("supervisors", killed) },
  {
    name: "all supervisors killed",
    of: ["F3"],
    scope: "supervisors",
    act: (stage, chance) => killedTogether(stage.supervisors, chance.between(500, 4_000)),
  },
  { name: "supervisor frozen", of: ["F5"], scope: "supervisors", act: one("supervisors", frozen) },
  {
    name: "supervisor drained",
    of: ["F31"],
    scope: "supervisors",
    act: one("supervisors", drained),
  },
  {
    name: "supervisor blocked",
    of: ["F29"],
    scope: "supervisors",
    act: one("supervisors", blocked),
  },
  { name: "agent killed", of: ["F4"], scope: "agents", act: one("agents", killed) },
  { name: "agent frozen", of: ["F5"], scope: "agents", act: one("agents", frozen) },
  { name: "agent drained", of: ["F31"], scope: "agents", act: one("agents", drained) },
  {
    name: "server's clock jumps",
    of: ["F14"],
    scope: "servers",
    needsPreload: true,
    act: clockJumps("servers"),
  },
  {
    name: "supervisor's clock jumps",
    of: ["F14"],
    scope: "supervisors",
    needsPreload: true,
    act: clockJumps("supervisors"),
  },
  {
    name: "everything restarted",
    of: ["F30"],
    scope: "servers",
    act: (stage, chance) =>
      killedTogether([...stage.servers, ...stage.supervisors], chance.between(500, 2_000)),
  },
];
