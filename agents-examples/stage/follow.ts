/**
 * Follows the runs to their ends, and reports what is new: attempts that ended, interventions of
 * the supervisor, questions for people and their answers, the end of the run. Each change of a run
 * wakes its watch; the details are asked for then, and compared with those of before.
 */
import type { Attempt, Client, Decision, Escalation, Intervention, RunDetails } from "@drover/sdk";

export type News = {
  readonly run: string;
  readonly at: Date;
  /** As it was when this was seen. */
  readonly details: RunDetails;
} & (
  | { readonly kind: "attempt"; readonly attempt: Attempt }
  | { readonly kind: "intervention"; readonly intervention: Intervention }
  | { readonly kind: "asked" | "answered"; readonly escalation: Escalation }
  | { readonly kind: "decided"; readonly decision: Decision }
  | { readonly kind: "undone"; readonly stepId: string; readonly count: number }
  | { readonly kind: "ended" }
);

export interface Follow {
  /** The newest details by key of the run. */
  readonly details: () => ReadonlyMap<string, RunDetails>;
  /** Asks again for the details of one run. */
  readonly look: (run: string) => Promise<RunDetails>;
  /** Resolves when every run is over. */
  readonly ended: Promise<void>;
}

export interface FollowOptions {
  readonly client: Client;
  readonly runs: readonly string[];
  readonly onNews: (news: News) => void;
  readonly signal: AbortSignal;
  /** When nothing more can come of a run. Default: when it has ended. */
  readonly isOver?: (details: RunDetails) => boolean;
}

export function hasEnded({ run }: RunDetails): boolean {
  return run.ended;
}

export function followRuns(options: FollowOptions): Follow {
  const { client, runs, onNews, signal, isOver = hasEnded } = options;
  const details = new Map<string, RunDetails>();
  const reported = new Set<string>();

  async function look(run: string): Promise<RunDetails> {
    const history = { attempts: true, interventions: true, escalations: true, decisions: true };
    const found = await client.getRun({ key: run }, { ...history, signal });
    const before = details.get(run);
    // Two reads may overtake each other.
    if (before !== undefined && before.run.version > found.run.version) return before;
    details.set(run, found);
    for (const [name, news] of newsOf(run, found, isOver)) {
      if (reported.has(name)) continue;
      reported.add(name);
      onNews(news);
    }
    return found;
  }

  async function follow(run: string): Promise<void> {
    for await (const { run: seen } of client.watchRun({ key: run }, { signal })) {
      // A task that was handed out moves no version, and is no news.
      if (details.get(run)?.run.version === seen.version) continue;
      if (isOver(await look(run))) return;
    }
    await look(run);
  }

  return Object.freeze({
    details: () => details,
    look,
    ended: Promise.all(runs.map(follow)).then(() => undefined),
  });
}

/** All that can be reported of a run so far, each by a name of its own. */
function newsOf(
  run: string,
  details: RunDetails,
  isOver: (details: RunDetails) => boolean,
): [name: string, news: News][] {
  const news: [string, News][] = [];
  const add = (name: string, at: Date | null, what: NewsKind) => {
    if (at !== null) news.push([`${run} ${name}`, { run, at, details, ...what }]);
  };
  for (const attempt of details.attempts) {
    const { stepId, kind, fence, n, late, outcome, endedTime } = attempt;
    const name = `attempt ${stepId} ${kind} ${fence} ${n} ${late} ${outcome}`;
    add(name, endedTime, { kind: "attempt", attempt });
  }
  for (const intervention of details.interventions) {
    const { stepId, rule, fence, actedTime } = intervention;
    const name = `intervention ${stepId} ${rule} ${fence} ${actedTime?.getTime()}`;
    add(name, actedTime, { kind: "intervention", intervention });
  }
  for (const escalation of details.escalations) {
    add(`asked ${escalation.id}`, escalation.openedTime, { kind: "asked", escalation });
    if (escalation.answer !== null)
      add(`answered ${escalation.id}`, escalation.closedTime, { kind: "answered", escalation });
  }
  for (const decision of details.decisions) {
    const name = `decided ${decision.stepId} ${decision.approver}`;
    add(name, decision.decidedTime, { kind: "decided", decision });
  }
  for (const { id: stepId, items, undoState } of details.steps) {
    if (items === null || undoState !== "DONE") continue;
    const undos = details.attempts.filter(
      (one) => one.kind === "COMPENSATE" && one.stepId.startsWith(`${stepId}[`),
    );
    const times = undos.map(({ endedTime }) => endedTime?.getTime() ?? 0);
    const count = undos.filter(({ outcome }) => outcome === "SUCCESS").length;
    add(`undone ${stepId}`, new Date(Math.max(...times)), { kind: "undone", stepId, count });
  }
  if (isOver(details)) add("ended", details.run.endedTime ?? new Date(), { kind: "ended" });
  return news;
}

type NewsKind = News extends infer One
  ? One extends News
    ? Omit<One, "run" | "at" | "details">
    : never
  : never;
