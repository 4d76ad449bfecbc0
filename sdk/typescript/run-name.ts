/** How a caller names a run. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RunRefSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";

/** A run by its id, or by the caller's own key. */
export type RunName = string | { readonly key: string };

export function toRef(name: RunName): MessageInitShape<typeof RunRefSchema> {
  return typeof name === "string"
    ? { ref: { case: "runId", value: name } }
    : { ref: { case: "key", value: name.key } };
}
