// Commands to a run: cancel, pause, resume, signals, decisions, deferred outcomes. Each becomes an
// event for the scheduler, and the scheduler's answer becomes a response or an error of the
// contract.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type CancelRunRequest,
  type CompleteDeferredRequest,
  type DecideRequest,
  type DecideResponseSchema,
  DecisionKind,
  type RunRef,
  RunRefSchema,
  type SignalRequest,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { nearestWord } from "../../core/definition/nearest-word.ts";
import type { Answer } from "../../core/model/event.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { type CallbackToken, parseCallbackToken } from "../../dispatch/token.ts";
import { DroverError, type Reason } from "../../errors.ts";
import type { RunCommand, Scheduler } from "../../scheduler/scheduler.ts";
import type { AuditAction, AuditDetails, AuditEntry } from "../../store/audit.ts";
import type { Namespace } from "../../store/store.ts";
import { endFrom, outcomeDigest } from "../agent/convert-outcome.ts";
import { provenName } from "../auth/proven-name.ts";
import { auditEntry, BY_HEADER, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadFrom } from "../calls/payload.ts";
import { runMessage } from "./convert-run.ts";
import type { FoundRun, RunLookup } from "./run-lookup.ts";

interface RunCommandDeps {
  readonly scheduler: Pick<Scheduler, "command">;
  readonly namespaces: Namespaces;
  readonly runs: RunLookup;
}

interface Command {
  readonly namespace: string;
  readonly run?: RunRef | undefined;
  readonly reason: string;
}

/** People have no identities here: the caller that starts a run may name its requester. */
export const REQUESTER_LABEL = "requester";
const NAMES_SHOWN_MAX = 8;
const WITH_BODIES = { bodies: true };

export function createRunCommands(deps: RunCommandDeps) {
  return Object.freeze({
    cancelRun: (request: CancelRunRequest, who: Who) =>
      command(deps, request, who, {
        kind: "cancel",
        undo: request.undo !== Undo.LEAVE,
        note: request.reason,
      }),
    pauseRun: (request: Command, who: Who) =>
      command(deps, request, who, { kind: "pause", note: request.reason }),
    resumeRun: (request: Command, who: Who) =>
      command(deps, request, who, { kind: "resume", note: request.reason }),
    signal: (request: SignalRequest) => signal(deps, request),
    decide: (request: DecideRequest, who: Who) => decide(deps, request, who),
    /** `who` null: a trigger completes it. */
    completeDeferred: (request: CompleteDeferredRequest, who: Who | null) =>
      completeDeferred(deps, request, who),
  });
}

async function command(
  deps: RunCommandDeps,
  request: Command,
  who: Who,
  event: Extract<RunCommand, { kind: "cancel" | "pause" | "resume" }>,
) {
  const found = await deps.runs.find(request.namespace, request.run);
  return { run: (await sendCommand(deps, found, event, commandEntry(who, found, event))).run };
}

/** The entry of a command; left out of it what a run keeps of every command. */
export function commandEntry(
  who: Who,
  run: Pick<FoundRun, "namespace" | "ref">,
  event: Extract<RunCommand, { kind: "cancel" | "pause" | "resume" }>,
  more: AuditDetails = {},
): AuditEntry {
  const details = event.kind === "cancel" ? { undo: event.undo, ...more } : more;
  return runEntry(who, `run.${event.kind}`, run, { reason: event.note, details });
}

export function runEntry(
  who: Who,
  action: AuditAction,
  { namespace, ref }: Pick<FoundRun, "namespace" | "ref">,
  more: Pick<Parameters<typeof auditEntry>[1], "by" | "reason" | "details">,
): AuditEntry {
  const subject = ["run", ref.runId] as const;
  return auditEntry(who, { action, namespaceId: namespace.id, subject, ...more });
}

async function signal({ scheduler, runs }: RunCommandDeps, request: SignalRequest) {
  const found = await runs.find(request.namespace, request.run);
  const answer = await scheduler.command(found.ref, {
    kind: "signal",
    id: request.signalId,
    name: request.name,
    payload: payloadFrom(request.payload),
  });
  return { repeated: accepted(answer, found.ref.runId).repeated };
}

async function decide(
  deps: RunCommandDeps,
  request: DecideRequest,
  who: Who,
): Promise<MessageInitShape<typeof DecideResponseSchema>> {
  const { runs } = deps;
  const found = await runs.find(request.namespace, request.run);
  const step = approvalNo(await runs.plan(found.record), request.stepId);
  const event: Extract<RunCommand, { kind: "decide" }> = {
    kind: "decide",
    step,
    approver: request.approver,
    verified: provenName(who.caller) !== null,
    roles: [...request.roles],
    approved: request.decision === DecisionKind.APPROVE,
    comment: request.comment,
    form: payloadFrom(request.form),
    requester: found.record.labels[REQUESTER_LABEL] ?? null,
  };
  const entry = runEntry(who, "run.decide", found, {
    by: request.approver,
    reason: request.comment,
    details: { step: request.stepId, approved: event.approved },
  });
  return await sendCommand(deps, found, event, entry, {
    refused: "DECISION_REFUSED",
    unknown: "STEP_NOT_FOUND",
  });
}

async function completeDeferred(
  { scheduler, namespaces, runs }: RunCommandDeps,
  request: CompleteDeferredRequest,
  who: Who | null,
) {
  const token = callbackTokenFrom(request.callbackToken);
  const { outcome } = request;
  if (outcome.case === undefined) throw new Error("no outcome has passed the rules");
  const { name } = await namespaceOf(namespaces, token);
  // A token can be changed to name another namespace than that of its run, so the run is asked.
  const named = create(RunRefSchema, { ref: { case: "runId", value: token.runId } });
  const { namespace, ref } = await runs.find(name, named);
  const details = { outcome: outcome.case };
  const entry =
    who && isPerson(who) ? runEntry(who, "run.complete", { namespace, ref }, { details }) : null;
  const event: RunCommand = {
    kind: "callback",
    step: token.step,
    fence: token.fence,
    secretDigest: token.secretDigest,
    secret: null,
    outcome: endFrom(outcome),
    // The same digest as if its agent had reported the outcome in Complete, so that both may
    // report it.
    digest: outcomeDigest(create(OutcomeSchema, { kind: outcome })),
  };
  const answer = await scheduler.command(ref, event, entry);
  const words = { refused: "RUN_STATE", unknown: "TASK_NOT_FOUND" } as const;
  return { repeated: accepted(answer, ref.runId, words).repeated };
}

async function sendCommand(
  { scheduler, runs }: RunCommandDeps,
  found: FoundRun,
  event: RunCommand,
  entry: AuditEntry,
  words?: Words,
) {
  const answer = await scheduler.command(found.ref, event, entry);
  const { repeated } = accepted(answer, found.ref.runId, words);
  const record = await runs.record(found);
  return { run: runMessage(record, found.namespace.name, WITH_BODIES), repeated };
}

interface Words {
  /** The reason of a refusal that the state of the run explains. */
  readonly refused: Reason;
  /** The reason when the run does not have what the command names. */
  readonly unknown: "STEP_NOT_FOUND" | "ESCALATION_NOT_FOUND" | "TASK_NOT_FOUND" | "RUN_NOT_FOUND";
}

/** Throws what the scheduler does not accept. */
export function accepted(
  answer: Answer,
  runId: string,
  words: Words = { refused: "RUN_STATE", unknown: "RUN_NOT_FOUND" },
): { readonly repeated: boolean } {
  const fail = (reason: Reason, message: string, metadata: Record<string, string> = {}): never => {
    throw new DroverError(reason, message, { metadata: { run_id: runId, ...metadata } });
  };
  switch (answer.kind) {
    case "done":
      return { repeated: false };
    case "repeated":
      return { repeated: true };
    case "lease-lost":
      return fail(
        "LEASE_LOST",
        `The report came too late (the run is ${answer.run}): the step was handed out again or has ended. It is stored as evidence; drop the task.`,
        { state: answer.run },
      );
    case "over":
      return fail(
        "TASK_OVER",
        `The attempt has already ended by another report (${answer.outcome}): drop the task.`,
      );
    case "refused":
      return fail(words.refused, answer.why, {
        state: answer.run,
        ...(answer.about && { field: answer.about }),
      });
    case "no-such-signal":
      return fail("SIGNAL_UNKNOWN", unknownSignal(runId, answer), {
        takes: answer.takes.join(","),
      });
    case "full":
      return fail(
        "SIGNAL_LIMIT",
        `The run "${runId}" already holds ${answer.limit} signals, which is the limit: send it to another run.`,
        { limit: String(answer.limit) },
      );
    case "no-such-task":
    case "no-such-question":
      return fail(
        words.unknown,
        `The run "${runId}" has nothing that this is about: check its id.`,
      );
  }
}

/** The sender may also have the wrong run: a mistyped name is only the likeliest cause. */
function unknownSignal(
  runId: string,
  { name, takes }: Extract<Answer, { kind: "no-such-signal" }>,
): string {
  const none = `The run "${runId}" has no step that takes the signal "${name}"`;
  if (takes.length === 0) return `${none}, or any other: is it the right run?`;
  const near = nearestWord(name, takes);
  const meant = near === null ? "" : ` Did you mean "${near}"?`;
  return `${none}; it takes: ${takes.slice(0, NAMES_SHOWN_MAX).join(", ")}.${meant}`;
}

function approvalNo(plan: Plan, stepId: string): number {
  const step = plan.steps.find(({ id }) => id === stepId);
  if (step?.work.kind === "approval") return step.no;
  const approvals = plan.steps.filter(({ work }) => work.kind === "approval").map(({ id }) => id);
  const what = step ? `The step "${stepId}" is no approval` : `There is no step "${stepId}"`;
  const hint = approvals.length === 0 ? "none" : approvals.slice(0, NAMES_SHOWN_MAX).join(", ");
  const message = `${what}: the approvals of this run are ${hint}.`;
  throw new DroverError("STEP_NOT_FOUND", message, { metadata: { name: stepId } });
}

export function callbackTokenFrom(text: string): CallbackToken {
  const token = parseCallbackToken(text);
  if (token !== null) return token;
  const message = "was not issued by this server: send it exactly as it came with the task";
  throw refusal("MALFORMED_TOKEN", [{ path: "callback_token", message }]);
}

/**
 * A service that calls back is part of its run, as an agent that reports is. A person gives a name,
 * or has a token that no service has.
 */
function isPerson({ caller, header }: Who): boolean {
  const given = header(BY_HEADER) ?? "";
  return given !== "" || caller?.role === "operator" || caller?.role === "admin";
}

/** A namespace that does not exist has no tasks: a caller with a token learns no more than that. */
async function namespaceOf(
  namespaces: Namespaces,
  { namespace }: CallbackToken,
): Promise<Namespace> {
  try {
    return await namespaces.find(namespace);
  } catch (error) {
    if (!(error instanceof DroverError) || error.reason !== "NAMESPACE_NOT_FOUND") throw error;
    const message = "names no task of this server: drop it";
    throw refusal("TASK_NOT_FOUND", [{ path: "callback_token", message }]);
  }
}
