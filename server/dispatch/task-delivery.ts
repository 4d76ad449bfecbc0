// Delivers the tasks of a claim to the waiters that have won them, after its commit. A task that
// was claimed for an agent that has gone is given back at once, and is not counted as an attempt;
// so is a task for which the answer has no room. A task that cannot be built ends alone, and a
// person is asked.
import { payloadBytes } from "../core/model/payload.ts";
import { DroverError, errorMessage } from "../errors.ts";
import type { Granted } from "../store/store.ts";
import type { HandedTask } from "./dispatcher.ts";
import { type Handed, type HandedTaskDeps, handedTasks, type Won } from "./handed-task.ts";
import type { Waiters } from "./waiters.ts";

/** Payload bytes of one answer: gRPC clients refuse messages of more than 4 MiB by default. */
const ANSWER_BYTES_MAX = 3 * 1024 * 1024;

/** A lease whose task its agent did not get. */
export interface UndeliveredLease {
  readonly lease: Granted;
  /** Why the task cannot be built, so that a person has to act; null: it can, and is given back. */
  readonly problem: string | null;
}

export interface DeliveryDeps extends HandedTaskDeps {
  readonly waiters: Pick<Waiters, "serve" | "fail">;
  /** Called with each lease whose task was not delivered. */
  readonly onUndelivered: (undelivered: UndeliveredLease) => void;
  readonly onError: (error: unknown) => void;
}

/** `grantedAtMs`: as in `ServedTasks`. */
export async function deliverTasks(
  deps: DeliveryDeps,
  won: readonly Won[],
  grantedAtMs: number,
): Promise<void> {
  if (won.length === 0) return;
  try {
    const handed = await handedTasks(deps, won);
    for (const one of won) serve(deps, one, handed, grantedAtMs);
  } catch (error) {
    deps.onError(error);
    for (const { waiter, granted } of won) {
      deps.waiters.fail(waiter, error);
      for (const lease of granted) giveBack(deps, lease);
    }
  }
}

function serve(
  deps: DeliveryDeps,
  { waiter, granted }: Won,
  handed: ReadonlyMap<Granted, Handed>,
  grantedAtMs: number,
): void {
  const live: Granted[] = [];
  const tasks: HandedTask[] = [];
  for (const lease of granted) {
    // A task whose lease has ended meanwhile is neither delivered nor given back.
    const one = handed.get(lease);
    if (one?.kind === "failed") fail(deps, lease, one.error);
    if (one?.kind !== "made") continue;
    live.push(lease);
    tasks.push(one.task);
  }
  const fit = tasksThatFit(tasks);
  deps.waiters.serve(waiter, { tasks: tasks.slice(0, fit), grantedAtMs });
  for (const lease of live.slice(fit)) giveBack(deps, lease);
}

/** How many of the tasks one answer can contain: always the first. */
function tasksThatFit(tasks: readonly HandedTask[]): number {
  let bytes = 0;
  const full = tasks.findIndex(({ input, lastDetails, output }, place) => {
    for (const payload of [input, lastDetails, output]) if (payload) bytes += payloadBytes(payload);
    return place > 0 && bytes > ANSWER_BYTES_MAX;
  });
  return full === -1 ? tasks.length : full;
}

function fail(deps: DeliveryDeps, lease: Granted, error: unknown): void {
  deps.onError(error);
  // The store was unavailable: another hand-out may succeed.
  if (error instanceof DroverError) giveBack(deps, lease);
  else deps.onUndelivered({ lease, problem: errorMessage(error) });
}

function giveBack({ onUndelivered }: DeliveryDeps, lease: Granted): void {
  onUndelivered({ lease, problem: null });
}
