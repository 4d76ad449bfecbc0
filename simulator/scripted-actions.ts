// Performs the actions of people and the faults of a scenario, each at its time or after a state
// was reached. A refused action is reported, and fails the scenario.
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import {
  DecisionKind,
  SchedulerService,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { payloadField } from "@drover/server/api/calls/payload.ts";
import { DroverError } from "@drover/server/errors.ts";
import type { Agents } from "./agents.ts";
import type { RunObserver } from "./run-observer.ts";
import type { Scenario, ScenarioEvent, ScriptedAction } from "./scenario.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Timeline } from "./timeline.ts";
import type { VirtualTime } from "./virtual-time.ts";

interface ScriptedActions {
  /** Called when the run has changed. */
  changed(): void;
  /** An action is still to come; `isStill`: no further state will be reached without one. */
  isPending(isStill: boolean): boolean;
  /** Actions that were never performed, in words. */
  undone(): readonly string[];
}

interface ActionsWorld {
  readonly scenario: Scenario;
  readonly server: SimulatedServer;
  readonly agents: Agents;
  readonly time: VirtualTime;
  readonly timeline: Timeline;
  readonly runId: string;
  readonly observer: RunObserver;
  readonly troubles: string[];
  /** The roles that each approval step requires. */
  readonly approvers: ReadonlyMap<string, readonly string[]>;
}

export function createScriptedActions(world: ActionsWorld): ScriptedActions {
  const { scenario, time, observer, troubles } = world;
  const waiting = new Set<ScenarioEvent>();
  let planned = 0;
  let readTo = 0;
  let people = 0;

  function plan({ action, path }: ScenarioEvent, inMs: number): void {
    planned += 1;
    time.after(inMs, () => {
      people += 1;
      void act(world, action, people)
        .catch((error: unknown) => {
          if (!(error instanceof DroverError)) throw error;
          const what = `is refused: ${error.message}`;
          world.timeline.add("action", { who: "a person", about: "", what });
          troubles.push(`${path} was refused: ${error.message}`);
        })
        .finally(() => {
          planned -= 1;
        });
    });
  }

  for (const event of scenario.events)
    if (event.on.kind === "at") plan(event, event.on.ms);
    else waiting.add(event);

  return Object.freeze({
    changed() {
      const news = observer.reached().slice(readTo);
      readTo = observer.reached().length;
      for (const event of waiting) {
        const { on } = event;
        if (on.kind !== "when" || !news.some(({ state }) => state === on.state)) continue;
        waiting.delete(event);
        // A person never answers in the same millisecond in which the state was reached.
        plan(event, Math.max(1, on.afterMs));
      }
    },
    isPending: (isStill: boolean) => planned > 0 || (waiting.size > 0 && !isStill),
    undone: () =>
      [...waiting].map(({ on, path }) =>
        on.kind === "when"
          ? `${path} never came: nothing was ever "${on.state}"`
          : `${path} never came`,
      ),
  } satisfies ScriptedActions);
}

function act(world: ActionsWorld, action: ScriptedAction, number: number): Promise<unknown> {
  const { server, agents, runId, timeline, time } = world;
  const run = { ref: { case: "runId" as const, value: runId } };
  const { cancelRun, signal } = SchedulerService.method;
  const note = (who: string, about: string, what: string) =>
    timeline.add("action", { who, about, what });
  switch (action.kind) {
    case "signal": {
      note("the world", "", `sends the signal ${action.name}`);
      const asked = { run, name: action.name, signalId: `signal-${number}` };
      return server.call(signal, { ...asked, ...payloadField("payload", action.payload) });
    }
    case "decide":
      return decide(world, action, number);
    case "answer":
      return answerQuestion(world, action);
    case "cancel":
      note(
        "a person",
        "",
        action.undo ? "cancels the run" : "cancels the run, and leaves what it did",
      );
      return server.call(cancelRun, { run, undo: action.undo ? Undo.COMPENSATE : Undo.LEAVE });
    case "pause":
    case "resume":
      note(
        "a person",
        "",
        `${action.kind}s ${action.queue === null ? "the run" : `queue ${action.queue}`}`,
      );
      return pauseOrResume(world, action);
    case "leave":
      note("the world", "", `all agents of queue ${action.queue} are gone`);
      agents.leave(action.queue);
      return Promise.resolve();
    case "return":
      note("the world", "", `agents of queue ${action.queue} are back`);
      agents.comeBack(action.queue);
      return Promise.resolve();
    case "kill":
      note("the world", "", "the server is killed");
      server.kill();
      time.after(action.forMs, () => {
        note("the world", "", "the server is back");
        void server.start();
      });
      return Promise.resolve();
  }
}

function pauseOrResume(
  { server, runId }: ActionsWorld,
  { kind, queue }: Extract<ScriptedAction, { kind: "pause" | "resume" }>,
): Promise<unknown> {
  const run = { ref: { case: "runId" as const, value: runId } };
  const runs = SchedulerService.method;
  const queues = OperatorService.method;
  if (queue === null)
    return server.call(kind === "pause" ? runs.pauseRun : runs.resumeRun, { run });
  if (kind === "pause") return server.call(queues.pauseQueue, { queue });
  return server.call(queues.resumeQueue, { queue });
}

/** The approver has the roles that the step requires, unless the scenario names other roles. */
async function decide(
  { server, runId, timeline, approvers }: ActionsWorld,
  { step: stepId, approve, by, roles, comment, form }: Extract<ScriptedAction, { kind: "decide" }>,
  number: number,
): Promise<unknown> {
  const approver = by ?? `person-${number}`;
  const what = approve ? "approves" : "rejects";
  timeline.add("action", { who: approver, about: stepId, what });
  return await server.call(SchedulerService.method.decide, {
    run: { ref: { case: "runId", value: runId } },
    stepId,
    approver,
    roles: [...(roles ?? approvers.get(stepId) ?? [])],
    comment,
    decision: approve ? DecisionKind.APPROVE : DecisionKind.REJECT,
    ...payloadField("form", form),
  });
}

async function answerQuestion(
  { server, runId, observer, timeline }: ActionsWorld,
  { answer, step, payload, by }: Extract<ScriptedAction, { kind: "answer" }>,
): Promise<unknown> {
  const fits = ({ stepId }: Escalation): boolean => step === null || stepId === step;
  const open = observer.openEscalations().find(fits);
  if (!open) {
    const whose = step === null ? "no question is open" : `no question about ${step} is open`;
    throw new DroverError("ESCALATION_NOT_FOUND", `${whose} now`);
  }
  const who = by ?? "operator";
  timeline.add("action", { who, about: open.stepId, what: `answers: ${answer}` });
  return await server.call(OperatorService.method.resolveEscalation, {
    run: { ref: { case: "runId", value: runId } },
    escalationId: open.id,
    answer,
    by: who,
    why: "simulated",
    ...payloadField("payload", payload),
  });
}
