// WatchOverview: what needs a person and what happens in a namespace, as a stream.
//
//   watcher: read → send if it has changed → wait a second → read …
//
// Promise: however many callers watch a namespace, its overview is read at most once a second (once
// more for callers of that namespace alone, who see less) and its activity at most once in five
// seconds; with no watchers, never.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetOverviewResponseSchema,
  type WatchOverviewRequest,
  type WatchOverviewResponse,
  WatchOverviewResponseSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { Clock } from "../../clock.ts";
import { DroverError } from "../../errors.ts";
import type { Namespace } from "../../store/store.ts";
import { cursorOf } from "../calls/cursor.ts";
import type { Drain } from "../calls/drain.ts";
import { aborted, whileWaiting } from "../calls/waits.ts";
import type { OperatorCallDeps } from "./agent-list.ts";
import { readActivity } from "./read-activity.ts";

export interface OverviewWanted {
  readonly namespace: Namespace;
  /** Late partitions of all regions with their supervisors, or its own region alone. */
  readonly everyRegion: boolean;
}

export type ReadOverview = (
  wanted: OverviewWanted,
) => Promise<MessageInitShape<typeof GetOverviewResponseSchema>>;

interface OverviewWatchDeps extends OperatorCallDeps {
  readonly drain: Drain;
  readonly clock: Clock;
  readonly overview: ReadOverview;
}

type Watch = (
  request: WatchOverviewRequest,
  caller: Pick<OverviewWanted, "everyRegion"> & { readonly signal: AbortSignal },
) => AsyncGenerator<WatchOverviewResponse>;

const POLL_MS = 1_000;
const ACTIVITY_AGAIN_MS = 5_000;

export function createOverviewWatch(deps: OverviewWatchDeps): Watch {
  const { namespaces, drain, clock } = deps;

  const activity = sharedFor(ACTIVITY_AGAIN_MS, clock, ({ id }) => readActivity(deps, id));

  const readBy = (everyRegion: boolean) =>
    sharedFor(POLL_MS, clock, async (namespace: Namespace) => {
      const overview = await deps.overview({ namespace, everyRegion });
      const state = create(WatchOverviewResponseSchema, {
        overview,
        activity: await activity(namespace),
      });
      return { ...state, cursor: cursorOf(WatchOverviewResponseSchema, state) };
    });
  const readAll = readBy(true);
  const readOwn = readBy(false);

  return async function* watch({ namespace: name, after }, { everyRegion, signal: caller }) {
    const namespace = await namespaces.find(name);
    let sent = after;
    while (!caller.aborted) {
      const state = await (everyRegion ? readAll : readOwn)(namespace);
      if (state.cursor !== sent) yield state;
      sent = state.cursor;
      if (drain.isDraining)
        throw new DroverError("DRAINING", "This server is about to stop: watch on another.");
      await whileWaiting(deps, caller, { afterMs: POLL_MS }, aborted);
    }
  };
}

/** Callers within `ms` share one read; a read that fails is not shared any longer. */
function sharedFor<T>(
  ms: number,
  clock: Clock,
  read: (namespace: Namespace) => Promise<T>,
): (namespace: Namespace) => Promise<T> {
  const reads = new Map<number, { readonly at: number; readonly seen: Promise<T> }>();
  return (namespace) => {
    const at = clock.monotonicMs();
    const known = reads.get(namespace.id);
    if (known && at - known.at < ms) return known.seen;
    const seen = read(namespace);
    reads.set(namespace.id, { at, seen });
    // The callers get the error; this only keeps it from counting as an unhandled rejection.
    seen.catch(() => reads.delete(namespace.id));
    return seen;
  };
}
