// The trace of a run: its id, and a link to it where the server knows the address of a viewer.
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { ShortId } from "../../parts/short-id.tsx";

export type TraceOf = Pick<GetRunResponse, "traceId" | "traceUrl">;

export function TraceFact({ of: { traceId, traceUrl } }: { readonly of: TraceOf }) {
  return (
    <span className="trace-fact">
      <ShortId of={traceId} /> <CopyButton text={traceId} what="the trace id" />
      {traceUrl === "" ? null : (
        <a href={traceUrl} target="_blank" rel="noreferrer">
          Open trace
        </a>
      )}
    </span>
  );
}
