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
import type { Again, RerunRequest, Scheduler } from "../../scheduler/scheduler.ts";
import type { AuditDetails, AuditEntry } from "../../store/audit.ts";
import type { Who } from "../calls/audit-entry.ts";
import { payloadFrom } from "../calls/payload.ts";
import { runEntry } from "./run-commands.ts";
import type { FoundRun, RunLookup } from "./run-lookup.ts";

interface RerunCallDeps {
  readonly scheduler: Pick<Scheduler, "rerun">;
  readonly runs: RunLookup;
}

type Asked = Pick<RerunRequest, "from" | "input" | "digest">;

export function createRerunCalls({ scheduler, runs }: RerunCallDeps) {
  async function rerun(request: RetryRunRequest | RerunFromRequest, who: Who, asked: Asked) {
    const found = await runs.find(request.namespace, request.run);
    const { namespace, ref } = found;
    const version = request.version === RerunVersion.NEWEST ? "newest" : "same";
    const { requestId } = request;
    const audit = rerunEntry(who, found, { ...asked, version });
    return scheduler.rerun({ ...asked, namespace, runId: ref.runId, version, requestId, audit });
  }

  return Object.freeze({
    retryRun: (request: RetryRunRequest, who: Who) =>
      rerun(request, who, {
        from: { kind: "failed" },
        input: null,
        digest: digestOf(RetryRunRequestSchema, { version: request.version }),
      }),

    rerunFrom: (request: RerunFromRequest, who: Who) => {
      const { stepId, version, input } = request;
      return rerun(request, who, {
        from: { kind: "step", stepId },
        input: input === undefined ? null : { payload: payloadFrom(input) },
        digest: digestOf(RerunFromRequestSchema, { stepId, version, ...(input && { input }) }),
      });
    },
  });
}

/** The entry is about the run that is run again. */
export function rerunEntry(
  who: Who,
  run: Pick<FoundRun, "namespace" | "ref">,
  { from, input, version }: Pick<Again, "from" | "input" | "version">,
  more: AuditDetails & { readonly reason?: string } = {},
): AuditEntry {
  const { reason = "", ...rest } = more;
  const details = {
    ...(from.kind === "step" && from.stepId !== "" ? { step: from.stepId } : {}),
    ...(version === "newest" ? { version } : {}),
    ...(input === null ? {} : { new_input: true }),
    ...rest,
  };
  const action = from.kind === "failed" ? "run.retry" : "run.rerun";
  return runEntry(who, action, run, { reason, details });
}

/**
 * Covers what is requested. It leaves out namespace, run and request id: the digest is stored by
 * them.
 */
function digestOf<Desc extends DescMessage>(desc: Desc, asked: MessageInitShape<Desc>): string {
  const bytes = toBinary(desc, create(desc, asked));
  return createHash("sha256").update(desc.typeName).update(bytes).digest("hex");
}
