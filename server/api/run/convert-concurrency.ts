// Converts concurrency keys of runs between protobuf and the core.
import { create } from "@bufbuild/protobuf";
import {
  type Concurrency as ConcurrencyMessage,
  ConcurrencyPolicy,
  ConcurrencySchema,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { Concurrency, ConcurrencyPolicy as CorePolicy } from "../../core/model/permits.ts";

const LIMIT_DEFAULT = 1;

const POLICIES: Readonly<Record<CorePolicy, ConcurrencyPolicy>> = Object.freeze({
  queue: ConcurrencyPolicy.QUEUE,
  refuse: ConcurrencyPolicy.REFUSE,
  "cancel-oldest": ConcurrencyPolicy.CANCEL_OLDEST,
  "queue-one": ConcurrencyPolicy.QUEUE_ONE,
});

export function concurrencyFrom(message: ConcurrencyMessage | undefined): Concurrency | null {
  if (message === undefined) return null;
  const { key, limit, policy } = message;
  return { key, limit: limit === 0 ? LIMIT_DEFAULT : limit, policy: policyFrom(policy) };
}

function policyFrom(policy: ConcurrencyPolicy): CorePolicy {
  if (policy === ConcurrencyPolicy.REFUSE) return "refuse";
  if (policy === ConcurrencyPolicy.QUEUE_ONE) return "queue-one";
  return policy === ConcurrencyPolicy.CANCEL_OLDEST ? "cancel-oldest" : "queue";
}

export function concurrencyMessage({ key, limit, policy }: Concurrency): ConcurrencyMessage {
  return create(ConcurrencySchema, { key, limit, policy: POLICIES[policy] });
}
