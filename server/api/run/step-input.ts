// GetStepInput: the evaluated input of one step, or of one item of a map.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetStepInputRequest,
  GetStepInputResponse,
  GetStepInputResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Evaluated } from "../../core/model/evaluator.ts";
import type { Payload } from "../../core/model/payload.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import { payloadMessage } from "../calls/payload.ts";
import type { RunLookup } from "./run-lookup.ts";
import { findStep } from "./step-lookup.ts";

interface StepInputDeps {
  readonly scheduler: Pick<Scheduler, "stepInput">;
  readonly runs: RunLookup;
}

export async function getStepInput(
  { scheduler, runs }: StepInputDeps,
  request: GetStepInputRequest,
): Promise<MessageInitShape<typeof GetStepInputResponseSchema>> {
  const { record } = await runs.find(request.namespace, request.run);
  const { key } = findStep(await runs.plan(record), request);
  const found = await scheduler.stepInput(record, key);
  if (found === null) return { hasInput: false };
  return { hasInput: true, result: resultOf(found) };
}

function resultOf(input: Evaluated<Payload | null>): GetStepInputResponse["result"] {
  if (input.kind === "failed") return { case: "problem", value: input.message };
  if (input.value === null) return { case: undefined };
  return { case: "payload", value: payloadMessage(input.value) };
}
