// WatchOverview: what needs a person and what happens, for everybody who looks at the same time.
//
//   watcher: look → send if it is another → wait a second → look …
//
// Promise: however many watch a namespace, it is looked at once a second, its runs of late once in
// five; and not at all while nobody watches.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type GetOverviewResponseSchema,
  type WatchOverviewRequest,
  type WatchOverviewResponse,
  WatchOverviewResponseSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { Clock } from "../clock.ts";
import type { Moment } from "../core/attempt.ts";
import { nameAt } from "../core/plan-at.ts";
import { DroverError } from "../errors.ts";
import type { Namespace, Store } from "../store/store.ts";
import {
  activityOf,
  INTERVENTIONS_LOOKED_AT,
  RETRIES_LOOKED_AT,
  type Retries,
  RUNS_LOOKED_AT,
  RUNS_OF_LATE_MS,
  retriedSteps,
} from "./activity.ts";
import { createPlans } from "./agents.ts";
import { cursorOf } from "./cursor.ts";
import type { Drain } from "./drain.ts";
import type { Namespaces } from "./namespaces.ts";
import { whileWaiting } from "./waits.ts";

export interface OverviewWatchDeps {
  readonly store: Pick<Store, "reads" | "operators" | "definition">;
  readonly namespaces: Namespaces;
  readonly drain: Drain;
  readonly clock: Clock;
  readonly overview: (
    namespace: Namespace,
  ) => Promise<MessageInitShape<typeof GetOverviewResponseSchema>>;
}

type Watch = (
  request: WatchOverviewRequest,
  caller: AbortSignal,
) => AsyncGenerator<WatchOverviewResponse>;

const ANY_INTERVENTION = { rules: null, runId: null, from: null, until: null, after: null };
const ANY_RUN = { parent: null, states: [], workflow: null, labels: {}, createdBefore: null };
const LOOK_AGAIN_MS = 1_000;
const ACTIVITY_AGAIN_MS = 5_000;

export function createOverviewWatch(deps: OverviewWatchDeps): Watch {
  const { store, namespaces, drain, clock } = deps;

  const activity = sharedFor(ACTIVITY_AGAIN_MS, clock, async ({ id }: Namespace) => {
    const now = await store.operators.now();
    const runs = await store.reads.listRuns(id, {
      filter: { ...ANY_RUN, createdAfter: now - RUNS_OF_LATE_MS },
      order: "created-desc",
      limit: RUNS_LOOKED_AT + 1,
      after: null,
    });
    const interventions = await store.operators.interventions(id, {
      ...ANY_INTERVENTION,
      limit: INTERVENTIONS_LOOKED_AT,
    });
    return activityOf(runs, interventions, await retriesOf(deps, id, now - RUNS_OF_LATE_MS));
  });

  const look = sharedFor(LOOK_AGAIN_MS, clock, async (namespace: Namespace) => {
    const overview = await deps.overview(namespace);
    const state = create(WatchOverviewResponseSchema, {
      overview,
      activity: await activity(namespace),
    });
    return { ...state, cursor: cursorOf(WatchOverviewResponseSchema, state) };
  });

  return async function* watch({ namespace: name, after }, caller) {
    const namespace = await namespaces.find(name);
    let sent = after;
    while (!caller.aborted) {
      const state = await look(namespace);
      if (state.cursor !== sent) yield state;
      sent = state.cursor;
      if (drain.begun)
        throw new DroverError("DRAINING", "This server is about to stop: watch on another.");
      await whileWaiting(deps, caller, { afterMs: LOOK_AGAIN_MS }, aborted);
    }
  };
}

/** Each wait for another try that ended has left its mark, and an index leads to those of late. */
async function retriesOf(
  deps: OverviewWatchDeps,
  namespaceId: number,
  from: Moment,
): Promise<Retries> {
  const waits = await deps.store.operators.interventions(namespaceId, {
    ...{ ...ANY_INTERVENTION, rules: ["backoff"], from },
    limit: RETRIES_LOOKED_AT + 1,
  });
  const counted = waits.slice(0, RETRIES_LOOKED_AT);
  const planOf = createPlans(deps)();
  const named = retriedSteps(counted).map(async (one) => {
    const { workflow, retries, lastAt, lastRunId } = one;
    const stepId = nameAt(await planOf(one), one.step);
    return { workflow, stepId, retries, lastTime: timestampFromMs(lastAt), lastRunId };
  });
  return {
    retries: counted.length,
    moreRetries: waits.length > RETRIES_LOOKED_AT,
    retriedSteps: await Promise.all(named),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** One look for all who ask within `ms` of it; one that fails is not kept. */
function sharedFor<T>(
  ms: number,
  clock: Clock,
  lookAt: (namespace: Namespace) => Promise<T>,
): (namespace: Namespace) => Promise<T> {
  const looks = new Map<number, { readonly at: number; readonly seen: Promise<T> }>();
  return (namespace) => {
    const at = clock.monotonicMs();
    const known = looks.get(namespace.id);
    if (known && at - known.at < ms) return known.seen;
    const seen = lookAt(namespace);
    looks.set(namespace.id, { at, seen });
    // Whoever asked hears of it; here it must not count as unhandled.
    seen.catch(() => looks.delete(namespace.id));
    return seen;
  };
}
