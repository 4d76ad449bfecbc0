// A quiet server on a port, over a real database, for actions on many runs.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type BulkActionRequestSchema,
  BulkKind,
  type BulkResult,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { createRpcServer } from "../../../server/api/server.ts";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import { HEALTH_DEFAULTS } from "../../../server/config.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import { RPC_DEFAULTS } from "../../../server/rpc-config.ts";
import type { Scheduler } from "../../../server/scheduler/scheduler.ts";
import { quietLog, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase } from "../../support/postgres.ts";
import { grpcClient, type Outcome, readStatus } from "../api/rpc-clients.ts";
import { openQuietPlane } from "./fixture.ts";

const { bulkAction } = SchedulerService.method;
type Asked = MessageInitShape<typeof BulkActionRequestSchema>;

export interface BulkWorld {
  readonly plane: TestPlane;
  readonly connectionString: string;
  /** What the server asks; a test may replace a call of it. */
  readonly scheduler: { -readonly [K in keyof Scheduler]: Scheduler[K] };
  bulk(asked: Asked): Promise<Outcome<typeof bulkAction.output>>;
  /** Runs of this label in this state. */
  count(label: string, state: RunState): Promise<number | undefined>;
  close(): Promise<void>;
}

export async function openBulkWorld(): Promise<BulkWorld> {
  const database = await createTestDatabase();
  const plane = await openQuietPlane(database.connectionString);
  const scheduler = { ...plane.scheduler };
  const server = createRpcServer({
    scheduler,
    dispatcher: plane.dispatcher,
    logs: plane.logs,
    store: plane.store,
    definitionCheck: () => [],
    triggers: plane.triggers,
    clock: systemClock,
    random: systemRandom,
    log: quietLog,
    config: { ...RPC_DEFAULTS, port: 0 },
    overdueMs: HEALTH_DEFAULTS.overdueMs,
  });
  const grpc = grpcClient((await server.start()).port);
  const bulk = (asked: Asked) => grpc.unary(bulkAction, asked);
  return {
    plane,
    scheduler,
    bulk,
    connectionString: database.connectionString,
    async count(label, state) {
      const filter = { labels: { of: label }, states: [state] };
      return (await bulk({ kind: BulkKind.CANCEL, dryRun: true, filter })).answer?.count;
    },
    async close() {
      grpc.close();
      await server.stop();
      await plane.close();
      await database.drop();
    },
  };
}

/** A filter for runs of one label of their own. */
export const by = (label: string) => ({ filter: { labels: { of: label } } });

/** The reason of each refusal; "": it was done. */
export function reasonsOf(results: readonly BulkResult[] = []): readonly string[] {
  return results.map(({ status }) => (status ? readStatus(status).reason : "no status"));
}

export const broken: Reported = {
  kind: "failure",
  class: "permanent",
  code: "broken",
  message: "no",
  retryAfterMs: null,
  noEffect: true,
};
