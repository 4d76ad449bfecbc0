// Watches one run from outside, as any client could: the states of the run and its steps, when they
// were reached, and what supervisors and people did. Changes are added to the timeline.
import { timestampMs } from "@bufbuild/protobuf/wkt";
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

interface State {
  readonly options: ObserverOptions;
  /** The word of each step and item: that of its compensation takes precedence. */
  readonly steps: Map<string, string>;
  readonly sides: Map<string, Sides>;
  readonly outputs: Map<string, string>;
  readonly reached: Reached[];
  /** Queues that were already reported. */
  readonly queues: Set<string>;
  /** Of the run when it was last read. */
  version: number;
  word: string;
  last: GetRunResponse | null;
  /** How many of each are on the timeline. */
  reported: { readonly interventions: number; readonly escalations: number };
}

interface Sides {
  readonly forward: string;
  readonly undo: string;
}

export function observeRun(options: ObserverOptions): RunObserver {
  const state: State = {
    options,
    steps: new Map(),
    sides: new Map(),
    outputs: new Map(),
    reached: [],
    queues: new Set(),
    version: -1,
    word: "",
    last: null,
    reported: { interventions: 0, escalations: 0 },
  };
  return Object.freeze({
    poll: () => poll(state),
    seen: () => seen(state),
    reached: () => state.reached,
    openEscalations: () => openEscalations(state),
    handedOut(step: string) {
      state.reached.push({ atMs: options.timeline.now(), state: `${step} LEASED` });
    },
    newQueues: () => newQueues(state),
    isAtRest: () => ENDED.has(runState(state)) || needsPerson(state),
    needsPerson: () => needsPerson(state),
  } satisfies RunObserver);
}

async function poll(state: State): Promise<boolean> {
  const { server, runId } = state.options;
  const found = await server.store.reads.runDetail(runId, NOTHING_MORE);
  if (!found || found.run.stateVersion === state.version) return false;
  state.version = found.run.stateVersion;
  const include = { includeInterventions: true, includeEscalations: true };
  const asked = { run: refOf(runId), ...include };
  const answer = inOrder(await server.call(SchedulerService.method.getRun, asked));
  state.last = answer;
  describeSupervision(state, answer);
  for (const step of answer.steps) {
    see(state, step);
    await seeItems(state, step);
  }
  const now = runWord(runState(state));
  if (now !== state.word) reach(state, "run", now);
  state.word = now;
  return true;
}

function describeSupervision(state: State, { interventions, escalations }: GetRunResponse): void {
  const { options, reported } = state;
  const { timeline } = options;
  for (const { stepId: about, rule, saw, did } of interventions.slice(reported.interventions))
    timeline.add("supervisor", { who: "supervisor", about, what: `${rule}: ${saw}; ${did}` });
  for (const { stepId: about, reason, message } of escalations.slice(reported.escalations)) {
    const what = `asks a person: ${reason}: ${message}`;
    timeline.add("run", { who: "run", about, what });
  }
  state.reported = { interventions: interventions.length, escalations: escalations.length };
}

/** A step, or an item of a map. */
function see(state: State, step: Step): void {
  const { id } = step;
  const output = payloadFrom(step.output);
  if (output?.kind === "json") state.outputs.set(id, output.json);
  const before = state.sides.get(id);
  const now = { forward: forwardWord(step), undo: undoWord(step) };
  state.sides.set(id, now);
  state.steps.set(id, stepWord(step));
  // Initial states are not reported, and neither is LEASED: the agent reports that it took the
  // task.
  const isDull = now.forward === "LEASED" || (!before && FIRST.has(now.forward));
  if (before?.forward !== now.forward && !isDull) reach(state, id, now.forward);
  if ((before?.undo ?? "") !== now.undo) reach(state, id, now.undo);
}

async function seeItems(state: State, { id: stepId, items }: Step): Promise<void> {
  if (!items || items.started === 0) return;
  const { server, runId } = state.options;
  const asked = { run: refOf(runId), stepId, pageSize: ITEMS_MAX };
  const answer = await server.call(SchedulerService.method.listItems, asked);
  for (const one of answer.items) see(state, one);
}

function reach({ options: { timeline }, reached }: State, about: string, to: string): void {
  reached.push({ atMs: timeline.now(), state: `${about} ${to}` });
  timeline.add("run", { who: "run", about: about === "run" ? "" : about, what: to });
}

function seen({ options, last, word, steps, outputs, reached }: State): SeenRun {
  const endedTime = last?.run?.endedTime;
  return {
    run: word,
    reason: reasonWord(last?.run?.reason ?? RunReason.UNSPECIFIED),
    endedMs: endedTime ? timestampMs(endedTime) - options.startMs : null,
    steps,
    outputs,
    reached,
    interventions: (last?.interventions ?? []).map(({ rule, stepId }) => ofStep(rule, stepId)),
    escalations: (last?.escalations ?? []).map(({ reason, stepId }) => ofStep(reason, stepId)),
  };
}

async function newQueues({ options: { server }, queues }: State): Promise<readonly string[]> {
  const namespace = await server.store.namespace(DEFAULT_NAMESPACE);
  if (!namespace) throw new Error(`there is no namespace "${DEFAULT_NAMESPACE}"`);
  const known = await server.store.rows.queues(namespace.id);
  const found = known.filter((name) => !queues.has(name));
  for (const name of found) queues.add(name);
  return found;
}

function needsPerson(state: State): boolean {
  return (
    WAITS_FOR_A_PERSON.has(runState(state)) &&
    openEscalations(state).every(({ deadlineTime }) => !deadlineTime)
  );
}

function openEscalations({ last }: State): readonly Escalation[] {
  return last?.escalations.filter(({ closedTime }) => !closedTime) ?? [];
}

function runState({ last }: State): RunState {
  return last?.run?.state ?? RunState.UNSPECIFIED;
}

function refOf(runId: string) {
  return { ref: { case: "runId" as const, value: runId } };
}

function inOrder(answer: GetRunResponse): GetRunResponse {
  const at = ({ actedTime }: Intervention): number => (actedTime ? timestampMs(actedTime) : 0);
  answer.interventions.sort((a, b) => at(a) - at(b));
  return answer;
}

function ofStep(what: string, stepId: string): string {
  return stepId === "" ? what : `${what} of ${stepId}`;
}
