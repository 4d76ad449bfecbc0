// Defines "the same request" for an idempotency key: SHA-256 over the request as sent. Fields go in
// the order of their numbers, maps sorted by key. Defaults are not filled in, and the version
// counts as it was named, not as the version that the name resolved to. The namespace and the key
// are left out because the digest is stored by (namespace, key), and the trace because a repeat has
// another span. Keys outlive servers: this form must never change (a test enforces it).
import { hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import {
  type ScheduleRequest,
  ScheduleRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";

export function requestDigest(request: ScheduleRequest): string {
  const sorted = Object.entries(request.labels).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const canonical: ScheduleRequest = {
    ...request,
    namespace: "",
    key: "",
    traceparent: "",
    tracestate: "",
    labels: Object.fromEntries(sorted),
  };
  return hash("sha256", toBinary(ScheduleRequestSchema, canonical), "hex");
}
