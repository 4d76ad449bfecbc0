// Escalations: the questions that only a person can answer. Lists them, reads one with the attempts
// behind it, claims and releases one for a person, and answers it.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ClaimEscalationRequest,
  GetEscalationResponseSchema,
  ListEscalationsRequest,
  ListEscalationsResponseSchema,
  OperatorService,
  ReleaseEscalationRequest,
  ResolveEscalationRequest,
  ResolveEscalationResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { AnswerKind } from "../../core/model/history.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { effectKey } from "../../core/model/strategy.ts";
import { nameAt, type Plan, planOf } from "../../core/plan/plan.ts";
import { DroverError } from "../../errors.ts";
import type { RunCommand, Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { strategyOfTask } from "../../store/facts.ts";
import type { Lists } from "../../store/lists.ts";
import type { EscalationRecord, RunDetail } from "../../store/reads.ts";
import { provenName } from "../auth/proven-name.ts";
import type { Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadFrom } from "../calls/payload.ts";
import { attemptMessages } from "../run/convert-attempt.ts";
import { answersTo, escalationMessage } from "../run/convert-history.ts";
import { runMessage, stepMessageAt } from "../run/convert-run.ts";
import { accepted, runEntry } from "../run/run-commands.ts";
import { escalationPageFrom } from "../run/run-list.ts";
import { createRunLookup, type FoundRun, type RunLookup } from "../run/run-lookup.ts";

const HISTORY_MAX = 1_000;
const WITH_BODIES = { bodies: true };
const WANTED = { attempts: true, interventions: false, escalations: true };

/** An escalation with its run, as they are now. */
interface Found {
  readonly detail: RunDetail;
  readonly plan: Plan;
  readonly escalation: EscalationRecord;
}

export interface AnswerDeps {
  readonly scheduler: Pick<Scheduler, "command">;
  readonly store: Pick<AllShards, "reads" | "definition" | "claimEscalation" | "releaseEscalation">;
  readonly namespaces: Namespaces;
}

type AnswerCalls = "getEscalation" | "resolveEscalation" | "claimEscalation" | "releaseEscalation";

/** The calls about one escalation: read it, claim and release it, answer it. */
export function createAnswerCalls(
  deps: AnswerDeps,
): Pick<Handlers<typeof OperatorService>, AnswerCalls> {
  const runs = createRunLookup(deps.store, deps.namespaces);
  return Object.freeze({
    async getEscalation(request) {
      const run = await runs.find(request.namespace, request.run);
      const found = await findEscalation(runs, run, request.escalationId);
      return escalationWithHistory(await withItem(deps, run, found), run);
    },
    resolveEscalation: (request, who) => resolveEscalation(deps, runs, request, who),
    claimEscalation: (request, who) =>
      claim(deps.store.claimEscalation, "escalation.claim", runs, { request, who }),
    releaseEscalation: (request, who) =>
      claim(deps.store.releaseEscalation, "escalation.release", runs, { request, who }),
  }) satisfies Pick<Handlers<typeof OperatorService>, AnswerCalls>;
}

interface EscalationListDeps {
  readonly store: Pick<AllShards, "definition"> & {
    readonly lists: Pick<Lists, "escalations">;
  };
  readonly namespaces: Namespaces;
}

export async function listEscalations(
  { store, namespaces }: EscalationListDeps,
  request: ListEscalationsRequest,
): Promise<MessageInitShape<typeof ListEscalationsResponseSchema>> {
  const namespace = await namespaces.find(request.namespace);
  const { query, limit, nextToken } = escalationPageFrom(request, namespace);
  const rows = await store.lists.escalations(namespace.id, { ...query, limit: limit + 1 });
  const plans = new Map<number, Promise<Plan>>();
  const planAt = ({ definitionId }: { readonly definitionId: number }) => {
    const plan = plans.get(definitionId) ?? store.definition(definitionId).then(planOf);
    plans.set(definitionId, plan);
    return plan;
  };
  const escalations = rows
    .slice(0, limit)
    .map(async (row) => escalationMessage(row, await planAt(row), row, null));
  return {
    escalations: await Promise.all(escalations),
    nextPageToken: nextToken(rows, ({ runId, n }) => `${runId} ${n}`),
  };
}

async function findEscalation(
  runs: RunLookup,
  run: FoundRun,
  escalationId: string,
): Promise<Found> {
  const detail = await runs.detail(run, WANTED);
  const escalation = detail.escalations.find(({ n }) => String(n) === escalationId);
  if (escalation) return { detail, escalation, plan: await runs.plan(detail.run) };
  throw new DroverError(
    "ESCALATION_NOT_FOUND",
    `The run "${run.ref.runId}" has no escalation "${escalationId}": GetRun shows those that it has.`,
    { metadata: { name: escalationId, run_id: run.ref.runId } },
  );
}

/**
 * Adds the item that an escalation is about. The detail of a run does not contain items that have
 * ended.
 */
async function withItem({ store }: AnswerDeps, { ref }: FoundRun, found: Found): Promise<Found> {
  const { step } = found.escalation;
  if (itemOf(step) === 0) return found;
  const page = { map: numberOf(step), after: itemOf(step) - 1, limit: 1, forwards: null };
  const item = await store.reads.runItems(ref.runId, page);
  return { ...found, detail: { ...found.detail, ...item } };
}

function escalationWithHistory(
  found: Found,
  { namespace }: FoundRun,
): MessageInitShape<typeof GetEscalationResponseSchema> {
  const { detail, plan, escalation } = found;
  const step = stepMessageAt(detail, plan, escalation.step, WITH_BODIES);
  const attempts = attemptMessages(detail, plan).filter(({ stepId }) => stepId === step?.id);
  return {
    escalation: messageOf(found),
    run: runMessage(detail.run, namespace.name, WITH_BODIES),
    ...(step ? { step } : {}),
    attempts: attempts.slice(-HISTORY_MAX),
    effectKey: attempts.some(({ agentId }) => agentId !== "") ? effectKeyOf(found) : "",
  };
}

/** The effect key that the tasks of the escalated step had. */
function effectKeyOf({ detail, plan, escalation: { step, reason } }: Found): string {
  const at = detail.steps.get(step);
  if (at === undefined) return "";
  const task = reason === "undo-failed" ? "compensate" : "perform";
  return effectKey({
    run: detail.reused.get(step) ?? detail.run.runId,
    stepId: nameAt(plan, step),
    strategy: strategyOfTask(task, at.strategies),
    items: at.items,
  });
}

function messageOf({ detail, plan, escalation }: Found) {
  return escalationMessage(escalation, plan, detail.run, detail);
}

async function resolveEscalation(
  { scheduler }: AnswerDeps,
  runs: RunLookup,
  request: ResolveEscalationRequest,
  who: Who,
): Promise<MessageInitShape<typeof ResolveEscalationResponseSchema>> {
  const run = await runs.find(request.namespace, request.run);
  const asked = await findEscalation(runs, run, request.escalationId);
  const given = { answer: answerFrom(request), by: request.by, why: request.why };
  const verified = provenName(who.caller) !== null;
  const event: RunCommand = {
    kind: "answer",
    n: asked.escalation.n,
    ...given,
    verified,
    payload: payloadFrom(request.payload),
  };
  const entry = runEntry(who, "escalation.answer", run, {
    by: given.by,
    reason: given.why,
    details: { escalation: request.escalationId, answer: given.answer },
  });
  const answer = await scheduler.command(run.ref, event, entry);
  const found = await findEscalation(runs, run, request.escalationId);
  const refused = answer.kind === "refused" ? answer : null;
  if (refused && !isSame(found.escalation, given)) throw notTaken(found, run, refused.why);
  const { repeated } = refused
    ? { repeated: true }
    : accepted(answer, run.ref.runId, { refused: "RUN_STATE", unknown: "ESCALATION_NOT_FOUND" });
  return {
    escalation: messageOf(found),
    run: runMessage(found.detail.run, run.namespace.name, WITH_BODIES),
    repeated,
  };
}

/**
 * The answer in a request that has passed validation. Throws for a payload that the answer does not
 * use.
 */
function answerFrom({ answer, payload }: ResolveEscalationRequest): AnswerKind {
  if (payload && answer !== "succeed" && answer !== "retry-changed") {
    const message = `means nothing with the answer "${answer}": leave it out`;
    throw refusal("INVALID_REQUEST", [{ path: "payload", message }]);
  }
  return answer as AnswerKind;
}

/**
 * The same answer is already recorded: the first call lost its response, and this call repeats it.
 */
function isSame(
  { answer }: EscalationRecord,
  given: Omit<NonNullable<EscalationRecord["answer"]>, "verified">,
) {
  return answer?.answer === given.answer && answer.by === given.by && answer.why === given.why;
}

function notTaken(found: Found, run: FoundRun, why: string): DroverError {
  const { detail, plan, escalation } = found;
  if (escalation.closedAt !== null) return closed(found, run);
  const answers = answersTo(escalation, plan, detail).join(",");
  return new DroverError("ANSWER_NOT_ALLOWED", why, {
    metadata: { ...nameOf(found, run), state: detail.run.state, answers },
  });
}

function closed(found: Found, run: FoundRun): DroverError {
  const closedBy = found.escalation.closedBy ?? "";
  return new DroverError("ESCALATION_CLOSED", `the escalation is closed: ${closedBy}`, {
    metadata: { ...nameOf(found, run), closed_by: closedBy },
  });
}

function nameOf({ escalation }: Found, { ref }: FoundRun) {
  return { name: String(escalation.n), run_id: ref.runId };
}

/** Claims or releases an escalation: `change` says which. */
async function claim(
  change: AllShards["claimEscalation"],
  action: "escalation.claim" | "escalation.release",
  runs: RunLookup,
  {
    request,
    who,
  }: {
    readonly request: ClaimEscalationRequest | ReleaseEscalationRequest;
    readonly who: Who;
  },
): Promise<{ readonly escalation: ReturnType<typeof messageOf> }> {
  const { by, anyway, escalationId } = request;
  const run = await runs.find(request.namespace, request.run);
  const { escalation } = await findEscalation(runs, run, escalationId);
  const { runId } = run.ref;
  const details = { escalation: escalationId };
  const entry = runEntry(who, action, run, { by, details });
  const held = await change({ runId, n: escalation.n, by, anyway }, entry);
  const found = await findEscalation(runs, run, escalationId);
  if (held === null) return { escalation: messageOf(found) };
  if (held.by === null) throw closed(found, run);
  throw new DroverError(
    "ESCALATION_CLAIMED",
    `"${held.by}" has the escalation "${escalationId}" of the run "${runId}": ask them, or set anyway to take it over.`,
    { metadata: { name: escalationId, run_id: runId, claimed_by: held.by } },
  );
}
