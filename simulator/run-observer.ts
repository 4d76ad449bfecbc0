// Watches one run from outside, as any client could: the states of the run and its steps, when they
// were reached, and what supervisors and people did. Changes are added to the timeline.
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Escalation,
  type Intervention,
  RunReason,
  RunState,
  type Step,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  type GetRunResponse,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { DEFAULT_NAMESPACE } from "@drover/server/api/calls/namespace-names.ts";
import { payloadFrom } from "@drover/server/api/calls/payload.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import { forwardWord, reasonWord, runWord, stepWord, undoWord } from "./state-words.ts";
import type { Timeline } from "./timeline.ts";

export interface Reached {
  readonly atMs: number;
  /** As "hotel FAILED", "run COMPENSATED". */
  readonly state: string;
}

export interface SeenRun {
  readonly run: string;
  readonly reason: string;
  /** Since its start; null: it has not ended. */
  readonly endedMs: number | null;
  readonly steps: ReadonlyMap<string, string>;
  /** JSON, of steps that have an output. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly interventions: readonly string[];
  readonly escalations: readonly string[];
  readonly reached: readonly Reached[];
}

export interface RunObserver {
  /** Reads the run; true: it has changed since the last read. */
  poll(): Promise<boolean>;
  seen(): SeenRun;
  reached(): readonly Reached[];
  openEscalations(): readonly Escalation[];
  /** A task was handed out. */
  handedOut(step: string): void;
  /** Queues that are new since the last call. */
  newQueues(): Promise<readonly string[]>;
  /** Time will change nothing more: the run has ended, or only a person can move it. */
  isAtRest(): boolean;
  /** Only a person can move the run. */
  needsPerson(): boolean;
}

const WAITS_FOR_A_PERSON: ReadonlySet<RunState> = new Set([RunState.ESCALATED, RunState.PAUSED]);
const ENDED: ReadonlySet<RunState> = new Set([
  RunState.COMPLETED,
  RunState.FAILED,
  RunState.COMPENSATED,
  RunState.CANCELLED,
]);
const NOTHING_MORE = { attempts: false, interventions: false, escalations: false };
const FIRST: ReadonlySet<string> = new Set(["BLOCKED", "READY"]);
/** At most this many items of a map are read when a run has changed. */
const ITEMS_MAX = 1_000;

interface ObserverOptions {
  readonly server: SimulatedServer;
  readonly runId: string;
  readonly timeline: Timeline;
  readonly startMs: number;
}

export function observeRun({ server, runId, timeline, startMs }: ObserverOptions): RunObserver {
  const run = { ref: { case: "runId" as const, value: runId } };
  const steps = new Map<string, string>();
  const sides = new Map<string, { readonly forward: string; readonly undo: string }>();
  const outputs = new Map<string, string>();
  const reached: Reached[] = [];
  const queues = new Set<string>();
  let version = -1;
  let state = "";
  let last: GetRunResponse | null = null;
  let reported = { interventions: 0, escalations: 0 };
  const sinceStart = (at: Timestamp | undefined): number => (at ? timestampMs(at) - startMs : 0);

  function reach(about: string, to: string): void {
    reached.push({ atMs: timeline.now(), state: `${about} ${to}` });
    timeline.add("run", { who: "run", about: about === "run" ? "" : about, what: to });
  }

  function see(step: Step): void {
    const { id } = step;
    const output = payloadFrom(step.output);
    if (output?.kind === "json") outputs.set(id, output.json);
    const before = sides.get(id);
    const now = { forward: forwardWord(step), undo: undoWord(step) };
    sides.set(id, now);
    steps.set(id, stepWord(step));
    // Initial states are not reported, and neither is LEASED: the agent reports that it took the
    // task.
    const isDull = now.forward === "LEASED" || (!before && FIRST.has(now.forward));
    if (before?.forward !== now.forward && !isDull) reach(id, now.forward);
    if ((before?.undo ?? "") !== now.undo) reach(id, now.undo);
  }

  async function seeItems({ id: stepId, items }: Step): Promise<void> {
    if (!items || items.begun === 0) return;
    const asked = { run, stepId, pageSize: ITEMS_MAX };
    const answer = await server.call(SchedulerService.method.listItems, asked);
    for (const one of answer.items) see(one);
  }

  function describeSupervision({ interventions, escalations }: GetRunResponse): void {
    for (const { stepId: about, rule, saw, did } of interventions.slice(reported.interventions))
      timeline.add("supervisor", { who: "supervisor", about, what: `${rule}: ${saw}; ${did}` });
    for (const { stepId: about, reason, message } of escalations.slice(reported.escalations)) {
      const what = `asks a person: ${reason}: ${message}`;
      timeline.add("run", { who: "run", about, what });
    }
    reported = { interventions: interventions.length, escalations: escalations.length };
  }

  async function poll(): Promise<boolean> {
    const found = await server.store.reads.runDetail(runId, NOTHING_MORE);
    if (!found || found.run.stateVersion === version) return false;
    version = found.run.stateVersion;
    const include = { includeInterventions: true, includeEscalations: true };
    const answer = await server.call(SchedulerService.method.getRun, { run, ...include });
    last = inOrder(answer);
    describeSupervision(last);
    for (const step of last.steps) {
      see(step);
      await seeItems(step);
    }
    const now = runWord(runState());
    if (now !== state) reach("run", now);
    state = now;
    return true;
  }

  const runState = (): RunState => last?.run?.state ?? RunState.UNSPECIFIED;
  const open = (): readonly Escalation[] =>
    last?.escalations.filter(({ closedTime }) => !closedTime) ?? [];
  const needsPerson = (): boolean =>
    WAITS_FOR_A_PERSON.has(runState()) && open().every(({ deadlineTime }) => !deadlineTime);

  return Object.freeze({
    poll,
    reached: () => reached,
    openEscalations: open,
    needsPerson,
    isAtRest: () => ENDED.has(runState()) || needsPerson(),
    handedOut(step: string) {
      reached.push({ atMs: timeline.now(), state: `${step} LEASED` });
    },
    async newQueues() {
      const namespace = await server.store.namespace(DEFAULT_NAMESPACE);
      if (!namespace) throw new Error(`there is no namespace "${DEFAULT_NAMESPACE}"`);
      const known = await server.store.rows.queues(namespace.id);
      const found = known.filter((name) => !queues.has(name));
      for (const name of found) queues.add(name);
      return found;
    },
    seen: () => ({
      run: state,
      reason: reasonWord(last?.run?.reason ?? RunReason.UNSPECIFIED),
      endedMs: last?.run?.endedTime ? sinceStart(last.run.endedTime) : null,
      steps,
      outputs,
      reached,
      interventions: (last?.interventions ?? []).map(({ rule, stepId }) => ofStep(rule, stepId)),
      escalations: (last?.escalations ?? []).map(({ reason, stepId }) => ofStep(reason, stepId)),
    }),
  } satisfies RunObserver);
}

function inOrder(answer: GetRunResponse): GetRunResponse {
  const at = ({ actedTime }: Intervention): number => (actedTime ? timestampMs(actedTime) : 0);
  answer.interventions.sort((a, b) => at(a) - at(b));
  return answer;
}

function ofStep(what: string, stepId: string): string {
  return stepId === "" ? what : `${what} of ${stepId}`;
}
