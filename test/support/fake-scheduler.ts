/**
 * A SchedulerService and an OperatorService that answer what a test sets, over real HTTP on a
 * free port. What the test does not set is UNIMPLEMENTED.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { BadRequestSchema, ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";

export type Script = Partial<
  ServiceImpl<typeof SchedulerService> & ServiceImpl<typeof OperatorService>
>;

export interface FakeScheduler {
  /** As `--address` takes it. */
  readonly address: string;
  /** From now on; each test begins with one. */
  play(script: Script): void;
  stop(): Promise<void>;
}

export async function startFakeScheduler(): Promise<FakeScheduler> {
  let handler = adapterOf({});
  const server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.freeze({
    address: `127.0.0.1:${port}`,
    play(script: Script) {
      handler = adapterOf(script);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function adapterOf(script: Script): ReturnType<typeof connectNodeAdapter> {
  return connectNodeAdapter({
    routes: (router) => router.service(SchedulerService, script).service(OperatorService, script),
  });
}

export interface Refusal {
  readonly code: Code;
  readonly reason: string;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly fields?: readonly { readonly field: string; readonly description: string }[];
}

/** An error as a Drover server sends it. */
export function refusedBy({ code, reason, message, metadata, fields }: Refusal): ConnectError {
  const info = { domain: "drover", reason, metadata: { ...metadata } };
  return new ConnectError(message, code, undefined, [
    { desc: ErrorInfoSchema, value: info },
    ...(fields ? [{ desc: BadRequestSchema, value: { fieldViolations: [...fields] } }] : []),
  ]);
}

export const runNotFound = refusedBy({
  code: Code.NotFound,
  reason: "RUN_NOT_FOUND",
  message: 'there is no run "r9" in the namespace "default"',
});
