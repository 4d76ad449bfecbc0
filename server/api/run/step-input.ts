// GetStepInput: the evaluated input of one step, or of one item of a map.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetStepInputRequest,
  GetStepInputResponse,
  GetStepInputResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Evaluated } from "../../core/model/evaluator.ts";
import type { Payload } from "../../core/model/payload.ts";
import { stepKeyOf } from "../../core/model/step-key.ts";
import type { Plan } from "../../core/plan/plan.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import { payloadMessage } from "../calls/payload.ts";
import { noStep } from "./log-list.ts";
import type { RunLookup } from "./run-lookup.ts";

interface StepInputDeps {
  readonly scheduler: Pick<Scheduler, "stepInput">;
  readonly runs: RunLookup;
}

export async function getStepInput(
  { scheduler, runs }: StepInputDeps,
  request: GetStepInputRequest,
): Promise<MessageInitShape<typeof GetStepInputResponseSchema>> {
  const { record } = await runs.find(request.namespace, request.run);
  const stepKey = stepKeyFrom(request, await runs.plan(record));
  const found = await scheduler.stepInput(record, stepKey);
  if (found === null) return { hasInput: false };
  return { hasInput: true, result: resultOf(found) };
}

function stepKeyFrom({ stepId, item }: GetStepInputRequest, plan: Plan): number {
  const step = plan.steps.find(({ id }) => id === stepId);
  if (!step) throw noStep(`The run has no step "${stepId}"`, stepId, plan);
  if (item === undefined) return step.no;
  if (step.work.kind === "map") return stepKeyOf(step.no, item + 1);
  throw noStep(`The step "${stepId}" is no map and has no items`, stepId, plan);
}

function resultOf(input: Evaluated<Payload | null>): GetStepInputResponse["result"] {
  if (input.kind === "failed") return { case: "problem", value: input.message };
  if (input.value === null) return { case: undefined };
  return { case: "payload", value: payloadMessage(input.value) };
}
