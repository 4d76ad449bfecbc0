// CompleteStep: an operator reports the outcome of a deferred step, in place of its callback. It is
// the event of CompleteDeferred without a token: the rules find the attempt that has deferred.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type {
  CompleteStepRequest,
  CompleteStepResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { RunCommand, Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { endFrom, outcomeDigest } from "../agent/convert-outcome.ts";
import type { Who } from "../calls/audit-entry.ts";
import { runMessage } from "../run/convert-run.ts";
import { accepted, runEntry } from "../run/run-commands.ts";
import type { RunLookup } from "../run/run-lookup.ts";
import { findStep, stepNotFound } from "../run/step-lookup.ts";

interface CompleteStepDeps {
  readonly scheduler: Pick<Scheduler, "command">;
  readonly store: Pick<AllShards, "reads">;
}

const WANTED = { attempts: false, interventions: false, escalations: false };

export async function completeStep(
  { scheduler, store }: CompleteStepDeps,
  runs: RunLookup,
  request: CompleteStepRequest,
  who: Who,
): Promise<MessageInitShape<typeof CompleteStepResponseSchema>> {
  const { outcome, stepId, item } = request;
  if (outcome.case === undefined) throw new Error("no outcome has passed the rules");
  const found = await runs.find(request.namespace, request.run);
  const step = deferringStepKey(await runs.plan(found.record), request);
  // The detail of a run does not contain items that have ended.
  const { steps } =
    item === undefined
      ? await runs.detail(found, WANTED)
      : await store.reads.runItems(found.ref.runId, {
          map: numberOf(step),
          after: itemOf(step) - 1,
          limit: 1,
          forwards: null,
        });
  const event: RunCommand = {
    kind: "callback",
    step,
    fence: steps.get(step)?.fence ?? 0,
    secretDigest: null,
    secret: null,
    outcome: endFrom(outcome),
    // The same as that of CompleteDeferred, should the callback come after all.
    digest: outcomeDigest(create(OutcomeSchema, { kind: outcome })),
  };
  const entry = runEntry(who, "run.complete", found, {
    by: request.by,
    reason: request.reason,
    details: { step: stepId, ...(item !== undefined && { item }), outcome: outcome.case },
  });
  const answer = await scheduler.command(found.ref, event, entry);
  const words = { refused: "RUN_STATE", unknown: "STEP_NOT_FOUND" } as const;
  const { repeated } = accepted(answer, found.ref.runId, words);
  const run = runMessage(await runs.record(found), found.namespace.name, { bodies: true });
  return { run, repeated };
}

/** Only agents defer: the steps with a task, and the items of maps. */
function deferringStepKey(
  plan: Plan,
  request: Pick<CompleteStepRequest, "stepId" | "item">,
): number {
  const { step, key } = findStep(plan, request);
  const { kind } = step.work;
  if (kind === "task" || (kind === "map" && request.item !== undefined)) return key;
  const why = kind === "map" ? "is a map: name the item too" : "has no task, so no agent defers it";
  throw stepNotFound(`The step "${step.id}" ${why}`, step.id, plan);
}
