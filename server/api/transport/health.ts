// grpc.health.v1: for load balancers and probes. SERVING until the drain begins, then NOT_SERVING.
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import {
  type Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "@drover/proto/grpc/health/v1/health_pb.ts";
import { StandardError } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";

export interface Health {
  readonly handlers: Handlers<typeof HealthService>;
  setServing(serving: boolean): void;
  /** Ends the watch streams. */
  close(): void;
}

/** `names`: the services that have their own health; "" is the server as a whole. */
export function createHealth(names: readonly string[]): Health {
  const known = new Set(["", ...names]);
  const wakers = new Set<() => void>();
  let serving = false;
  let closed = false;

  const statusOf = (name: string) => {
    if (!known.has(name)) return Status.SERVICE_UNKNOWN;
    return serving ? Status.SERVING : Status.NOT_SERVING;
  };
  const wakeAll = () => {
    for (const wake of [...wakers]) wake();
  };

  const handlers: Handlers<typeof HealthService> = {
    async check({ service }) {
      if (!known.has(service))
        throw new StandardError(
          Code.NOT_FOUND,
          `There is no service "${service}" here: ask for one of ${names.join(", ")}, or for "".`,
        );
      return { status: statusOf(service) };
    },
    async list() {
      return {
        statuses: Object.fromEntries([...known].map((name) => [name, { status: statusOf(name) }])),
      };
    },
    async *watch({ service }, { signal }) {
      let sent: Status | null = null;
      while (!signal.aborted) {
        const status = statusOf(service);
        if (status !== sent) yield { status };
        sent = status;
        if (closed) return;
        await new Promise<void>((resolve) => {
          const wake = () => {
            wakers.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          wakers.add(wake);
          signal.addEventListener("abort", wake);
          if (signal.aborted || closed || statusOf(service) !== status) wake();
        });
      }
    },
  };

  return Object.freeze({
    handlers,
    setServing(now: boolean) {
      serving = now;
      wakeAll();
    },
    close() {
      closed = true;
      wakeAll();
    },
  });
}
