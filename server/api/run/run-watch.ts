// WatchRun and WaitRun: calls that follow a run to its end.
//
// A watch sends each state that differs from the one that it sent last, or that its caller saw
// last: each state has a cursor, which is the same on every server. A change of the run wakes the
// watch at once. Grants and progress do not change the run's version, so while a task is moving the
// watch reads the run again every second.
import { create } from "@bufbuild/protobuf";
import {
  type WatchRunRequest,
  type WatchRunResponse,
  WatchRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import { isMoving } from "../../core/model/model.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { DroverError } from "../../errors.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { RunDetail, RunRecord } from "../../store/reads.ts";
import { cursorOf } from "../calls/cursor.ts";
import type { Drain } from "../calls/drain.ts";
import { whileWaiting } from "../calls/waits.ts";
import { namedSteps, runMessage, stepMessages } from "./convert-run.ts";
import type { FoundRun, RunLookup } from "./run-lookup.ts";

interface RunWatchDeps {
  readonly scheduler: Pick<Scheduler, "runChange">;
  readonly runs: RunLookup;
  readonly drain: Drain;
  readonly clock: Clock;
}

const POLL_MS = 1_000;
const WANTED = { attempts: true, interventions: false, escalations: false };

export async function* watchRun(
  deps: RunWatchDeps,
  found: FoundRun,
  seen: Pick<WatchRunRequest, "after" | "afterVersion">,
  caller: AbortSignal,
): AsyncGenerator<WatchRunResponse> {
  const plan = await deps.runs.plan(found.record);
  let sent = seen.after;
  while (!caller.aborted) {
    const detail = await deps.runs.detail(found, WANTED);
    const state = stateOf(detail, plan, found);
    const ended = detail.run.endedAt !== null;
    const known =
      sent === "" ? BigInt(detail.run.stateVersion) <= seen.afterVersion : state.cursor === sent;
    if (ended || !known) yield state;
    if (ended) return;
    sent = state.cursor;
    if (deps.drain.isDraining)
      throw new DroverError("DRAINING", "This server is about to stop: watch on another.");
    const again = isAnythingMoving(detail) ? { afterMs: POLL_MS } : {};
    await whileWaiting(deps, caller, again, (signal) =>
      deps.scheduler.runChange(found.ref, detail.run.stateVersion, signal),
    );
  }
}

/** Resolves to the run when it has ended, or when the wait is over. */
export async function waitRun(
  deps: RunWatchDeps,
  found: FoundRun,
  forMs: number,
  caller: AbortSignal,
): Promise<RunRecord> {
  const until = deps.clock.monotonicMs() + forMs;
  let record = found.record;
  while (record.endedAt === null && !caller.aborted && !deps.drain.isDraining) {
    const afterMs = until - deps.clock.monotonicMs();
    if (afterMs <= 0) break;
    const { stateVersion } = record;
    await whileWaiting(deps, caller, { afterMs }, (signal) =>
      deps.scheduler.runChange(found.ref, stateVersion, signal),
    );
    record = await deps.runs.record(found);
  }
  return record;
}

function stateOf(detail: RunDetail, plan: Plan, { namespace }: FoundRun): WatchRunResponse {
  const shown = { bodies: false };
  const state = create(WatchRunResponseSchema, {
    run: runMessage(detail.run, namespace.name, { ...shown, named: namedSteps(detail, plan) }),
    steps: stepMessages(detail, plan, shown),
  });
  return { ...state, cursor: cursorOf(WatchRunResponseSchema, state) };
}

function isAnythingMoving(detail: RunDetail): boolean {
  return [...detail.steps.values()].some((step) => isMoving(step.forward) || isMoving(step.undo));
}
