// RetryRun and RerunFrom: run a run that has ended again, as a new run.
import { createHash } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type RerunFromRequest,
  RerunFromRequestSchema,
  RerunVersion,
  type RetryRunRequest,
  RetryRunRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { RerunRequest, Scheduler } from "../../scheduler/scheduler.ts";
import { payloadFrom } from "../calls/payload.ts";
import type { RunLookup } from "./run-lookup.ts";

interface RerunCallDeps {
  readonly scheduler: Pick<Scheduler, "rerun">;
  readonly runs: RunLookup;
}

type Asked = Pick<RerunRequest, "from" | "input" | "digest">;

export function createRerunCalls({ scheduler, runs }: RerunCallDeps) {
  async function rerun(request: RetryRunRequest | RerunFromRequest, asked: Asked) {
    const { namespace, ref } = await runs.find(request.namespace, request.run);
    const version = request.version === RerunVersion.NEWEST ? "newest" : "same";
    const { requestId } = request;
    return scheduler.rerun({ ...asked, namespace, runId: ref.runId, version, requestId });
  }

  return Object.freeze({
    retryRun: (request: RetryRunRequest) =>
      rerun(request, {
        from: { kind: "failed" },
        input: null,
        digest: digestOf(RetryRunRequestSchema, { version: request.version }),
      }),

    rerunFrom: (request: RerunFromRequest) => {
      const { stepId, version, input } = request;
      return rerun(request, {
        from: { kind: "step", stepId },
        input: input === undefined ? null : { payload: payloadFrom(input) },
        digest: digestOf(RerunFromRequestSchema, { stepId, version, ...(input && { input }) }),
      });
    },
  });
}

/**
 * Covers what is requested. It leaves out namespace, run and request id: the digest is stored by
 * them.
 */
function digestOf<Desc extends DescMessage>(desc: Desc, asked: MessageInitShape<Desc>): string {
  const bytes = toBinary(desc, create(desc, asked));
  return createHash("sha256").update(desc.typeName).update(bytes).digest("hex");
}
