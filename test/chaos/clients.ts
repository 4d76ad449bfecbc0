// The clients and people of one namespace. Each run is driven from its start to its end: its signal
// is sent, its approval given, some are cancelled or paused. A robot answers escalations.
// All calls go through the recording proxy, so nothing is written down here.
import { type Client, createClient, DroverCallError } from "../../sdk/typescript/index.ts";
import type { Chance } from "../../simulator/chance.ts";
import { MARK_LABEL } from "../simulation/history-rows.ts";
import { APPROVAL_STEP, MIX, RARE, SIGNAL, WORKFLOWS } from "./workload.ts";

export interface ClientsOptions {
  readonly namespace: string;
  readonly canary: string;
  /** Of the recording proxies: for the clients, for the people. */
  readonly addresses: { readonly clients: string; readonly people: string };
  /** Runs that are open at a time. */
  readonly openMax: number;
  readonly chance: Chance;
}

export interface Clients {
  /** How often each thing was done. */
  readonly counts: ReadonlyMap<string, number>;
  start(): Promise<void>;
  /** No new runs; those that are open are driven to their end. */
  wind(): Promise<void>;
  stop(): void;
}

const PATIENCE = "1m";
const SCHEDULE_EVERY = "10s";
/** Questions of one run, until no person answers retry any more. */
const RETRIES_MAX = 4;
const CANCEL_SHARE = 0.08;
const PAUSE_SHARE = 0.05;
const RARE_SHARE = 0.02;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function createClients(options: ClientsOptions): Clients {
  const { namespace, canary, addresses, openMax, chance } = options;
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const connect = (address: string): Client =>
    createClient({ address, namespace, patience: PATIENCE });
  const client = connect(addresses.clients);
  const people = connect(addresses.people);
  const scheduleName = `${canary}-every`;
  const open = new Set<Promise<void>>();
  let isWinding = false;
  let isStopped = false;
  let number = 0;

  /** Until the server has answered: what was not done is tried again, what was refused is not. */
  async function surely<T>(call: () => Promise<T>): Promise<T | null> {
    while (!isStopped) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof DroverCallError)) throw error;
        if (!["UNAVAILABLE", "DEADLINE_EXCEEDED"].includes(error.code)) return null;
        await pause(300);
      }
    }
    return null;
  }
  async function drive(workflow: string, no: number): Promise<void> {
    const input = { canary, no };
    const labels = { [MARK_LABEL]: `${canary}-run-${no}` };
    const asked = { workflow, key: `${canary}-${no}`, input, labels };
    const begun = await surely(() => client.schedule(asked));
    if (!begun) return;
    count(workflow);
    const { runId } = begun;
    const acts = [
      workflow === "signalled" ? signal(runId, no) : null,
      workflow === "approved" ? approve(runId) : null,
      chance.happens(CANCEL_SHARE) ? cancel(runId) : null,
      chance.happens(PAUSE_SHARE) ? pauseFor(runId) : null,
    ];
    await Promise.all(acts);
    for (let isOver = false; !isOver && !isStopped; ) {
      const run = await surely(() => client.waitRun(runId));
      isOver = !run || run.endedTime !== null;
    }
  }
  async function signal(runId: string, no: number): Promise<void> {
    await pause(chance.between(0, 3_000));
    count("signal");
    await surely(() =>
      client.signal(runId, SIGNAL, { id: `${canary}-${no}`, payload: { canary } }),
    );
  }
  async function approve(runId: string): Promise<void> {
    while (!isStopped) {
      const found = await surely(() => people.getRun(runId));
      if (!found || found.run.endedTime !== null) return;
      const waits = found.steps.some(
        ({ id, state }) => id === APPROVAL_STEP && state === "WAITING",
      );
      if (waits) break;
      await pause(400);
    }
    const decision = chance.happens(0.8) ? "approve" : "reject";
    count(decision);
    await surely(() => people.decide(runId, APPROVAL_STEP, { decision, approver: "ann" }));
  }
  async function cancel(runId: string): Promise<void> {
    await pause(chance.between(0, 2_500));
    const undo = chance.happens(0.7) ? "compensate" : "leave";
    count(`cancel, ${undo}`);
    await surely(() => client.cancelRun(runId, { undo }));
  }
  async function pauseFor(runId: string): Promise<void> {
    await pause(chance.between(0, 1_500));
    count("pause");
    await surely(() => client.pauseRun(runId));
    await pause(chance.between(200, 2_500));
    await surely(() => client.resumeRun(runId));
  }
  async function keepOpen(): Promise<void> {
    while (!isWinding) {
      if (open.size >= openMax) {
        await Promise.race([...open, pause(200)]);
        continue;
      }
      number += 1;
      const isRare = chance.happens(RARE_SHARE);
      // Each of the rare ones once, however short the test.
      const shape = RARE[number - 1] ?? chance.pick(isRare ? RARE : MIX);
      const driven = drive(shape, number).catch(() => undefined);
      open.add(driven);
      void driven.then(() => open.delete(driven));
      await pause(chance.between(5, 40));
    }
  }
  async function answerAll(): Promise<void> {
    while (!isStopped) {
      await pause(500);
      const page = await people.escalations.list().catch(() => null);
      for (const { runId, id } of page?.escalations ?? []) await answer(runId, id);
    }
  }
  async function answer(runId: string, id: string): Promise<void> {
    // Closed meanwhile, maybe by a late report.
    const found = await people.escalations.get(runId, id).catch(() => null);
    const allowed = found?.escalation.answers ?? [];
    const wishes = ["acknowledge", "retry", "compensate", "skip", "fail", "succeed"] as const;
    const patient = Number(id) <= RETRIES_MAX;
    const wish = wishes.find((one) => allowed.includes(one) && (patient || one !== "retry"));
    if (!wish) return;
    count(`answer ${wish}`);
    const reply = { answer: wish, by: "ann", why: "the robot says so" } as const;
    await people.escalations.resolve(runId, id, reply).catch(() => undefined);
  }
  return Object.freeze({
    counts,
    async start() {
      for (const workflow of WORKFLOWS) await surely(() => client.registerWorkflow(workflow));
      const calendar = { every: SCHEDULE_EVERY };
      const every = { calendar, workflow: "chain", input: { canary }, overlap: "allow-all" };
      await surely(() => client.schedules.create(scheduleName, { ...every, overlap: "allow-all" }));
      void keepOpen();
      void answerAll();
    },
    async wind() {
      isWinding = true;
      await surely(() => client.schedules.pause(scheduleName));
      await Promise.all(open);
    },
    stop() {
      isStopped = true;
      isWinding = true;
      client.close();
      people.close();
    },
  });
}
