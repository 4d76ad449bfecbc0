/**
 * The pages of a run of core-world.ts, as a store keeps them: each pass is applied to them, and
 * between two passes tasks are handed out and send heartbeats.
 */
import { isDeepStrictEqual } from "node:util";
import type { Effect } from "../../server/core/model/effect.ts";
import {
  emptyView,
  isEnded,
  type Lease,
  movingSide,
  type Step,
  type View,
} from "../../server/core/model/model.ts";
import {
  type AppliedPass,
  applyPass,
  type LaneOf,
  pagesTouched,
} from "../../server/core/page/apply-pass.ts";
import { handOut } from "../../server/core/page/hand-out.ts";
import {
  emptyPage,
  type Page,
  type PageHead,
  type PageStep,
  pageNoOf,
} from "../../server/core/page/page.ts";
import { type Plan, plannedTask, planStepAt } from "../../server/core/plan/plan.ts";
import type { PassPlayed } from "./core-rows.ts";
import type { World } from "./core-world.ts";

export interface PagedLife {
  /** Every version of a page, in the order in which they are written. */
  readonly versions: readonly { readonly before: Page | null; readonly after: Page }[];
  /** As they are in the end. */
  readonly pages: ReadonlyMap<number, Page>;
  readonly logged: AppliedPass["logged"];
}

/** `first`: the first pass of the run, of the same plan; `world`: what has become of it. */
export function pagedLife(world: World, first: PassPlayed): PagedLife {
  const pages = new Map<number, Page>();
  const versions: { before: Page | null; after: Page }[] = [];
  const logged: AppliedPass["logged"][number][] = [];
  const laneOf = lanesOf(world.plan);
  const put = (after: Page): void => {
    versions.push({ before: pages.get(after.no) ?? null, after });
    pages.set(after.no, after);
  };
  const putStep = (step: PageStep): void => {
    const page = pages.get(pageNoOf(step.step.no)) ?? emptyPage(pageNoOf(step.step.no));
    put({ ...page, steps: new Map(page.steps).set(step.step.no, step) });
  };
  /** What agents have done since the last pass. */
  const followAgents = (view: View): void => {
    for (const step of view.steps.values()) {
      const was = pages.get(pageNoOf(step.no))?.steps.get(step.no);
      if (!was || was.step === step) continue;
      putStep({ ...(handedOut(was, step) ?? was), step });
    }
  };
  put({ no: 0, head: headOf(first), steps: new Map() });
  for (const pass of [first, ...world.passes]) {
    const { before, after, now } = pass;
    const effects = pass.effects.map(withHexDigest);
    followAgents(before);
    const read = pagesTouched(pass).flatMap((no) => pages.get(no) ?? []);
    const ends = isEnded(after.run.state) && !isEnded(before.run.state);
    const applied = applyPass(new Map(read.map((page) => [page.no, page])), {
      before,
      after,
      effects,
      laneOf,
      endedAt: ends ? now : null,
    });
    logged.push(...applied.logged);
    for (const page of applied.pages) put(page);
  }
  followAgents(world.view());
  return { versions, pages, logged };
}

/** The run as it began, before anything else happens to it. */
export function firstPassOf(world: World): PassPlayed {
  const after = world.view();
  const before: View = emptyView(after.run);
  return { before, after, effects: [...world.effects], now: world.now() };
}

/** A run may end as it begins: every step of it is skipped. */
function headOf({ after: { run }, now }: PassPlayed): PageHead {
  const endedAt = isEnded(run.state) ? now : null;
  return {
    namespaceId: 1,
    definitionId: 1,
    priority: 5,
    run,
    endedAt,
    cancelNote: null,
    hasMore: false,
  };
}

/** null: it was handed out before, and a heartbeat has changed its lease. */
function handedOut(was: PageStep, step: Step): PageStep | null {
  if (movingSide(was.step)?.state.kind === "LEASED") return null;
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED")
    throw new Error(`step ${step.no} has changed between two passes, and is not handed out`);
  const { secret, session, agentId, pollSeq, grantedAt } = lease;
  const lane = was.terms?.lane ?? 0;
  const handed = handOut(was, { secret, session, agentId, pollSeq, lane }, grantedAt);
  const given = movingSide(handed.step)?.state;
  if (given?.kind !== "LEASED" || !isSameLease(given, lease))
    throw new Error(`step ${step.no} is handed out in another way than the rules expect`);
  return handed;
}

/** But for what heartbeats change. */
function isSameLease(one: Lease, other: Lease): boolean {
  const beforeHeartbeats = (lease: Lease): Lease => ({
    ...lease,
    progressAt: lease.grantedAt,
    cancel: { kind: "none" },
    wakeAt: lease.attemptBy,
  });
  return isDeepStrictEqual(beforeHeartbeats(one), beforeHeartbeats(other));
}

/** As the digests of real reports are. */
function withHexDigest(effect: Effect): Effect {
  switch (effect.kind) {
    case "task-ended":
    case "attempt-settled":
    case "attempt-stored": {
      const { digest } = effect.attempt;
      const hex = digest === null ? null : Buffer.from(digest).toString("hex");
      return { ...effect, attempt: { ...effect.attempt, digest: hex } };
    }
    default:
      return effect;
  }
}

function lanesOf(plan: Plan): LaneOf {
  const lanes = new Map<string, number>();
  return (stepKey, kind, planned) => {
    const step = planStepAt(plan, stepKey);
    if (!step) throw new Error(`the plan has no step ${stepKey}`);
    const task = plannedTask(step, kind, planned);
    const key = `${task.queue}/${task.task}`;
    const lane = lanes.get(key) ?? lanes.size + 1;
    lanes.set(key, lane);
    return { lane, task };
  };
}
