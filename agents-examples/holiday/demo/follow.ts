/**
 * Follows the runs to their ends, and tells what is new: attempts that ended, interventions of the
 * supervisor, the end of the run. Each change of a run wakes its watch; the details are asked for
 * then, and compared with those of before.
 */
import type { Attempt, Client, Intervention, RunDetails, Step } from "@drover/sdk";

export type News =
  | {
      readonly kind: "attempt";
      readonly run: string;
      readonly at: Date;
      readonly attempt: Attempt;
      /** The step after it. */
      readonly step: Step | undefined;
    }
  | {
      readonly kind: "intervention";
      readonly run: string;
      readonly at: Date;
      readonly intervention: Intervention;
    }
  | {
      readonly kind: "ended";
      readonly run: string;
      readonly at: Date;
      readonly details: RunDetails;
    };

export interface Follow {
  /** The newest details by key of the run. */
  readonly details: () => ReadonlyMap<string, RunDetails>;
  /** Asks again for the details of one run. */
  readonly look: (run: string) => Promise<RunDetails>;
  /** Resolves when no run can move without a person. */
  readonly ended: Promise<void>;
}

export interface FollowOptions {
  readonly client: Client;
  readonly runs: readonly string[];
  readonly onNews: (news: News) => void;
  readonly signal: AbortSignal;
}

/** What ended is final; what is escalated waits for somebody, and this demo has nobody. */
export function isOver({ run }: RunDetails): boolean {
  return run.ended || run.state === "ESCALATED";
}

export function followRuns({ client, runs, onNews, signal }: FollowOptions): Follow {
  const details = new Map<string, RunDetails>();

  async function look(run: string): Promise<RunDetails> {
    const spec = { attempts: true, interventions: true, escalations: true, signal };
    const found = await client.getRun({ key: run }, spec);
    const before = details.get(run);
    // Two looks may overtake each other.
    if (before !== undefined && before.run.version > found.run.version) return before;
    details.set(run, found);
    for (const news of newsOf(run, before, found)) onNews(news);
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

function newsOf(run: string, before: RunDetails | undefined, now: RunDetails): News[] {
  const known = new Set([
    ...(before?.attempts ?? []).filter(hasEnded).map(attemptName),
    ...(before?.interventions ?? []).map(interventionName),
  ]);
  const news: News[] = [];
  for (const attempt of now.attempts) {
    const at = attempt.endedTime;
    if (at === null || known.has(attemptName(attempt))) continue;
    const step = now.steps.find(({ id }) => id === attempt.stepId);
    news.push({ kind: "attempt", run, at, attempt, step });
  }
  for (const intervention of now.interventions) {
    const at = intervention.actedTime;
    if (at === null || known.has(interventionName(intervention))) continue;
    news.push({ kind: "intervention", run, at, intervention });
  }
  if (isOver(now) && !(before && isOver(before))) {
    news.push({ kind: "ended", run, at: now.run.endedTime ?? new Date(), details: now });
  }
  return news;
}

function hasEnded(attempt: Attempt): boolean {
  return attempt.endedTime !== null;
}

function attemptName({ stepId, kind, fence, late }: Attempt): string {
  return `${stepId} ${kind} ${fence} ${late}`;
}

function interventionName({ stepId, rule, fence, actedTime }: Intervention): string {
  return `${stepId} ${rule} ${fence} ${actedTime?.getTime()}`;
}
