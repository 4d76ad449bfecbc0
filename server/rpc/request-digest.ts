// What "the same request" means for an idempotency key: SHA-256 over the request as sent. Fields go
// in the order of their numbers, maps sorted by key; defaults are not filled in, and the version
// counts as it was named, not as what it stood for then. The key and the namespace are where it is
// filed, and a repeat has another span of its caller's trace, so these are left out. Keys outlive
// servers: this form must never change (a test holds it).
import { hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import {
  type ScheduleRequest,
  ScheduleRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";

export function requestDigest(request: ScheduleRequest): string {
  const sorted = Object.entries(request.labels).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const filed: ScheduleRequest = {
    ...request,
    namespace: "",
    key: "",
    traceparent: "",
    tracestate: "",
    labels: Object.fromEntries(sorted),
  };
  return hash("sha256", toBinary(ScheduleRequestSchema, filed), "hex");
}
