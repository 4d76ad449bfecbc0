// Plays a scenario: a server, its agents and one run of a workflow, in virtual time.
//
//   workflows registered → run started → an event; changes are reported → … → at rest
//
// A scenario is over when the run has ended and no agent acts any more, when only a person could
// move the run and the scenario has no further action of a person, or when its time is over. The
// same scenario gives the same timeline, to the millisecond.
import type { ExplainRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { payloadField, payloadFrom } from "@drover/server/api/calls/payload.ts";
import { DroverError } from "@drover/server/errors.ts";
import { createAgents } from "./agents.ts";
import { createChance } from "./chance.ts";
import { createRemoteService } from "./remote-service.ts";
import { observeRun, type RunObserver, type SeenRun } from "./run-observer.ts";
import type { Scenario } from "./scenario.ts";
import { stepName } from "./scenario.ts";
import { createScriptedActions } from "./scripted-actions.ts";
import { createScripts } from "./scripts.ts";
import { createSimulatedServer, type SimulatedServer } from "./simulated-server.ts";
import { createTimeline, type TimelineEntry } from "./timeline.ts";
import { createVirtualTime, type Stepped, type VirtualTime } from "./virtual-time.ts";

/** The texts of the workflow that is run, and of the workflows that it begins. */
export interface Play {
  readonly workflow: string;
  readonly workflows: readonly string[];
  readonly queues: readonly string[];
  /** Some queues are named by expressions, so new queues are looked for during the scenario. */
  readonly findsQueues: boolean;
  /** The roles that each approval step requires. */
  readonly approvers: ReadonlyMap<string, readonly string[]>;
  /** Steps that are maps. */
  readonly maps: ReadonlySet<string>;
}

export interface PlayedScenario extends SeenRun {
  /** How much virtual time has passed. */
  readonly playedMs: number;
  /** How often each task was handed out. */
  readonly calls: ReadonlyMap<string, number>;
  /** The last input of each task, as JSON. */
  readonly inputs: ReadonlyMap<string, string>;
  readonly effects: readonly string[];
  readonly timeline: readonly TimelineEntry[];
  /** Why the run is not moving; "": it has ended. */
  readonly why: string;
  /** Parts of the scenario that could not be played, and defects of the server. */
  readonly troubles: readonly string[];
}

/** More than any sensible run needs. */
const STEPS_MAX = 1_000_000;
const HANDED_MAX = 1_000;
/** The last byte of run ids in the only partition (simulated-server.ts). */
const LAST_BYTE_MAX = 0;

export async function playScenario(play: Play, scenario: Scenario): Promise<PlayedScenario> {
  const troubles: string[] = [];
  const time = createVirtualTime(scenario.startMs);
  const chance = createChance(scenario.seed, LAST_BYTE_MAX);
  const onDefect = (what: string) => void troubles.push(`the server has a defect: ${what}`);
  const server = createSimulatedServer({ time, chance, onDefect });
  const timeline = createTimeline(() => time.now() - scenario.startMs);
  const remoteService = createRemoteService();
  const scripts = createScripts(scenario.scripts);
  const calls = new Map<string, number>();
  const inputs = new Map<string, string>();
  const handed = new Map<string, number>();
  const agents = createAgents({
    call: server.call,
    scripts,
    remoteService,
    timeline,
    chance: chance.fork(),
    maps: play.maps,
    sleep: (ms) => new Promise((resolve) => void time.after(ms, resolve)),
    onTask(task) {
      calls.set(task.task, (calls.get(task.task) ?? 0) + 1);
      noteInput(inputs, task);
      const of = `${task.task} for ${stepName(task.stepId, task.item)}`;
      handed.set(of, (handed.get(of) ?? 0) + 1);
      if (task.kind === TaskKind.PERFORM && task.runId === runId)
        observer.handedOut(stepName(task.stepId, task.item));
    },
  });
  await server.start();
  const runId = await started(server, play, scenario);
  const observer = observeRun({ server, runId, timeline, startMs: scenario.startMs });
  for (const queue of play.queues) agents.serve(queue);
  const world = { scenario, server, agents, time, timeline, runId, observer, troubles };
  const actions = createScriptedActions({ ...world, approvers: play.approvers });
  await untilOver({
    handed,
    findsQueues: play.findsQueues,
    time,
    scenario,
    observer,
    actions,
    agents,
    troubles,
    server,
  });
  troubles.push(...actions.undone(), ...unusedScripts(scripts.unused()));
  const seen = observer.seen();
  const why = seen.endedMs === null ? await whyNot(server, runId) : "";
  return Object.freeze({
    ...seen,
    playedMs: time.now() - scenario.startMs,
    calls,
    inputs,
    effects: remoteService.left(),
    timeline: timeline.entries(),
    why,
    troubles,
  });
}

function noteInput(inputs: Map<string, string>, task: Task): void {
  const input = payloadFrom(task.input);
  if (input?.kind !== "json") return;
  inputs.set(task.task, input.json);
  if (task.kind === TaskKind.PERFORM) inputs.set(stepName(task.stepId, task.item), input.json);
}

async function started(server: SimulatedServer, play: Play, scenario: Scenario): Promise<string> {
  const register = SchedulerService.method.registerWorkflow;
  let name = "";
  // The workflow itself is registered last: the workflows that it begins must exist.
  for (const value of [...play.workflows, play.workflow])
    name = (await server.call(register, { source: { case: "text", value } })).name;
  const { runId } = await server.call(SchedulerService.method.schedule, {
    target: { case: "workflow", value: { name } },
    key: scenario.key,
    ...payloadField("input", scenario.input),
  });
  return runId;
}

interface Playing extends Pick<Play, "findsQueues"> {
  /** How often each task was handed out for each step. */
  readonly handed: ReadonlyMap<string, number>;
  readonly time: VirtualTime;
  readonly scenario: Scenario;
  readonly observer: RunObserver;
  readonly actions: ReturnType<typeof createScriptedActions>;
  readonly agents: ReturnType<typeof createAgents>;
  readonly troubles: string[];
  readonly server: SimulatedServer;
}

async function untilOver(playing: Playing): Promise<void> {
  const { time, scenario, observer, actions, agents, troubles, server, findsQueues, handed } =
    playing;
  const untilMs = scenario.startMs + scenario.withinMs;
  let stepped: Stepped = "happened";
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    if (stepped === "happened") {
      if (server.isUp() && (await observer.poll()) && findsQueues)
        for (const queue of await observer.newQueues()) agents.serve(queue);
      actions.changed();
      if (agents.busy() === 0 && !actions.isPending(observer.needsPerson()) && observer.isAtRest())
        return;
      if (isEndless(handed, troubles)) return;
      await server.announceNextDue();
    }
    stepped = await time.step(untilMs);
    if (stepped === "nothing") return;
  }
  troubles.push(
    `${STEPS_MAX} things have happened and it would go on: is there a timeout of milliseconds?`,
  );
}

/** Tasks may be handed out again without any time passing, so their number is bounded, too. */
function isEndless(handed: Playing["handed"], troubles: string[]): boolean {
  for (const [of, count] of handed)
    if (count >= HANDED_MAX) {
      troubles.push(
        `agents were handed ${of} ${HANDED_MAX} times, and it would go on: does its last act end it?`,
      );
      return true;
    }
  return false;
}

function unusedScripts(keys: readonly string[]): readonly string[] {
  return keys.map((key) => `agents."${key}" was never asked for: no such task was handed out`);
}

async function whyNot(server: SimulatedServer, runId: string): Promise<string> {
  const method = SchedulerService.method.explainRun;
  const asked = { run: { ref: { case: "runId" as const, value: runId } } };
  try {
    return whyWords(await server.call(method, asked));
  } catch (error) {
    if (error instanceof DroverError) return error.message;
    throw error;
  }
}

function whyWords({ wait, steps }: ExplainRunResponse): string {
  const sentences = [wait?.sentence ?? "", ...steps.map(({ sentence }) => sentence)];
  return [...new Set(sentences)].filter((sentence) => sentence !== "").join(" ");
}
