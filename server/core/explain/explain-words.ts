// Renders an explanation as one sentence for a person, from its fields alone.

import type { EpochMs } from "../model/attempt.ts";
import type { CancelCause } from "../model/model.ts";
import { itemOf } from "../model/step-key.ts";
import { inWords } from "../pass.ts";
import { nameAt, type Plan } from "../plan/plan.ts";
import type {
  AgentWorking,
  Explanation,
  NextKind,
  StepWait,
  Tried,
  Unwatched,
  Wait,
  WaitsFor,
} from "./explanation.ts";

/** Most steps that a sentence names. */
const NAMED_MAX = 5;

/** What the run waits for at `now`. */
export function runSentence(
  plan: Plan,
  { run, waitsOn, steps }: Explanation,
  now: EpochMs,
): string {
  if (run.waitsFor.kind === "ended") return "The run has ended; nothing is waited for.";
  const first = steps.find(({ step }) => step === waitsOn[0]);
  if (first && run.waitsFor.kind !== "resume") return stepSentence(plan, first, now);
  return sentence({ name: "the run", isUndo: false }, plan, run, now);
}

export function stepSentence(plan: Plan, wait: StepWait, now: EpochMs): string {
  const id = `"${nameAt(plan, wait.step)}"`;
  const isUndo = wait.side === "undo";
  const of = isUndo ? "the undo of " : isGate(plan, wait) ? "the gate of " : "";
  return sentence({ name: `${of}${id}`, isUndo }, plan, wait, now);
}

/** A task of a map itself, in its queue or with an agent, is the gate of the map. */
function isGate(plan: Plan, { step, waitsFor }: StepWait): boolean {
  const isTask = "task" in waitsFor && waitsFor.task !== null;
  return isTask && itemOf(step) === 0 && plan.steps[step]?.work.kind === "map";
}

interface Subject {
  readonly name: string;
  readonly isUndo: boolean;
}

function sentence(subject: Subject, plan: Plan, wait: Wait, now: EpochMs): string {
  const { waitsFor, since, next, tried } = wait;
  const isVerify = "task" in waitsFor && waitsFor.task === "verify";
  const name = isVerify ? `the verify of ${subject.name}` : subject.name;
  const what = whatWords({ ...subject, name }, plan, waitsFor, now);
  const whole = `For ${inWords(Math.max(0, now - since))} ${what}${triedWords(tried)}`;
  if (!next) return `${whole}.`;
  const { what: soon, at, unwatched } = next;
  if (unwatched) return `${whole}; ${unwatchedWords(NEXT[soon], at - now, unwatched)}.`;
  return `${whole}; ${inTime(at - now)} ${NEXT[soon]}.`;
}

function unwatchedWords(next: string, dueMs: number, { region, whole }: Unwatched): string {
  const due = dueMs > 0 ? `is due in ${inWords(dueMs)}` : `is overdue by ${inWords(-dueMs)}`;
  const of = whole ? `region "${region}"` : `its partition of region "${region}"`;
  return `what comes next (${next}) ${due}, and no supervisor watches ${of}: start one with drover supervisor --region ${region}`;
}

function whatWords(
  { name: of, isUndo }: Subject,
  plan: Plan,
  waitsFor: WaitsFor,
  now: EpochMs,
): string {
  const ago = (at: EpochMs): string => `${inWords(Math.max(0, now - at))} ago`;
  switch (waitsFor.kind) {
    case "agent-to-poll": {
      const { queue, taskName, polled, silent, lastPolledAt, cordoned, agentVersion } = waitsFor;
      const agent = agentVersion === null ? "agent" : `agent of version "${agentVersion}"`;
      const where = `queue "${queue}" for task "${taskName}"`;
      if (cordoned > 0)
        return `${of} waits for an ${agent}: every agent that polls ${where} is cordoned (${cordoned} of ${cordoned})`;
      if (polled) return `${of} waits for a free ${agent}: agents poll ${where} and are busy`;
      const last = lastPolledAt === null ? "" : `, since the last poll ${ago(lastPolledAt)}`;
      const died = silent ? ", and all agents that polled have fallen silent" : "";
      const none = agentVersion === null ? "no agent" : "none";
      return `${of} waits for an ${agent}: ${none} polls ${where}${last}${died}`;
    }
    case "queue-to-resume":
      return `${of} is held, as ${pauseWords(waitsFor)}`;
    case "circuit-to-close":
      return `${of} is held, as ${circuitWords(waitsFor)}`;
    case "agent-working":
      return `${of} is with agent ${waitsFor.agentId} (${workWords(waitsFor, ago)})`;
    case "agent-to-stop": {
      const { agentId, cause, informed } = waitsFor;
      const noticed = informed ? "was informed" : "is not informed yet";
      return `${of} is with agent ${agentId}, which should stop (${CAUSES[cause]}) and ${noticed}`;
    }
    case "backoff":
      return `${of} waits to be tried again`;
    case "again":
      return `${of} waits as its agent asked for`;
    case "settle":
      return `${of} waits until a lost attempt can act no more`;
    case "timer":
      return `${of} waits for its time`;
    case "signal":
      return `${of} waits for the signal "${waitsFor.name}"`;
    case "approval": {
      const { approvers, approvals, need } = waitsFor;
      const by = approvers.length === 0 ? "any person" : approvers.join(", ");
      return `${of} waits for approval by ${by} (${approvals} of ${need} so far)`;
    }
    case "items":
      return itemWords({ name: of, isUndo }, waitsFor);
    case "callback":
      return `${of} waits for the outcome that ${waitsFor.agentId ?? "its agent"} has deferred`;
    case "child":
      return waitsFor.stopping
        ? `${of} waits for its child run to end, which was asked to stop`
        : `${of} waits for its child run`;
    case "person":
      return `${of} waits for a person's answer to escalation ${waitsFor.escalation} (${waitsFor.message})`;
    case "resume":
      return waitsFor.task === null ? `${of} is paused` : `${of} is held, as the run is paused`;
    case "steps":
      return `${of} waits for ${namesOf(plan, waitsFor.steps)}${isUndo ? " to be undone" : ""}`;
    case "end-of-run":
      return `${of} runs last and waits for all others`;
    case "start":
    case "permit":
      return `${of} waits for ${waitsFor.kind === "start" ? "its start" : "a permit of its concurrency key"}`;
    case "ended":
      return `${of} has ended`;
  }
}

function pauseWords({ queue, pause }: Extract<WaitsFor, { kind: "queue-to-resume" }>): string {
  const what = pause.scope === "queue" ? `queue "${queue}"` : `the ${pause.scope}`;
  const why = pause.reason === "" ? "" : ` (${pause.reason})`;
  return `${what} is paused${why}`;
}

function circuitWords({
  queue,
  taskName,
  circuit: { isHalfOpen, override, saw },
}: Extract<WaitsFor, { kind: "circuit-to-close" }>): string {
  const what = `the circuit of task "${taskName}" in queue "${queue}" is open`;
  if (override)
    return `${what}: ${override.by} opened it${override.why === "" ? "" : ` (${override.why})`}`;
  return `${what}: ${saw}${isHalfOpen ? "; one task probes the service" : ""}`;
}

function workWords(
  { lastHeartbeatAt, progress, suspectAt }: AgentWorking,
  ago: (at: EpochMs) => string,
): string {
  const heartbeat =
    lastHeartbeatAt === null
      ? "it has sent no heartbeat yet"
      : `last heartbeat ${ago(lastHeartbeatAt)}`;
  const shownProgress = progress ? `, progress ${progress.text} ${ago(progress.since)}` : "";
  const slow = suspectAt === null ? "" : `, suspect: past its typical duration ${ago(suspectAt)}`;
  return `${heartbeat}${shownProgress}${slow}`;
}

function itemWords(
  { name, isUndo }: Subject,
  { total, started, open, failed }: Extract<WaitsFor, { kind: "items" }>,
): string {
  const bad = failed === 0 ? "" : `, ${failed} of them failed`;
  const under = isUndo ? "" : `; ${open} are under way`;
  return `${name} waits for its items: ${started - open} of ${total} have ended${bad}${under}`;
}

const CAUSES: Readonly<Record<CancelCause, string>> = Object.freeze({
  run: "the run stops",
  timeout: "it ran past its time",
  stalled: "its progress stalled",
});

const NEXT: Readonly<Record<NextKind, string>> = Object.freeze({
  "check-again": "the supervisor checks again",
  start: "its first steps begin",
  "give-up": "it ends without having started",
  "try-one": "one task may try it",
  alarm: "an alarm is raised that no agent takes it",
  escalate: "a person is asked",
  "fall-back": "the next fallback is tried",
  fail: "it fails",
  "check-lease": "the supervisor checks the attempt again",
  "tell-to-stop": "its time is over and the agent is asked to stop",
  "end-lease": "the agent loses it, whatever it does",
  "make-ready": "it is ready for an agent",
  "next-wave": "its next wave starts if its gate passes",
  succeed: "it continues",
  skip: "it is skipped",
  "count-as-unknown": "its outcome counts as unknown",
  "stop-child": "its child is asked to stop",
  undo: "the compensation of what was done starts",
});

function triedWords(tried: Tried | null): string {
  const outcome = tried?.last?.outcome;
  if (!tried || !outcome) return "";
  const { attempts } = tried;
  const code = outcome.kind === "failure" || outcome.kind === "unknown" ? outcome.code : null;
  const count = attempts === 0 ? "none" : String(attempts);
  return `; its last task ended ${code ?? outcome.kind}, attempts that count: ${count}`;
}

function namesOf(plan: Plan, steps: readonly number[]): string {
  const names = steps.slice(0, NAMED_MAX).map((no) => `"${nameAt(plan, no)}"`);
  const more = steps.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

function inTime(ms: EpochMs): string {
  return ms > 0 ? `in ${inWords(ms)}` : "now";
}
