// The clients of the server's services: Connect over HTTP on the origin of this page, as for any
// client.
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { token } from "../shell/session.ts";

const authorize: Interceptor = (next) => (request) => {
  const held = token();
  if (held !== null) request.header.set("authorization", `Bearer ${held}`);
  return next(request);
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize],
});

export const scheduler = createClient(SchedulerService, transport);
export const operator = createClient(OperatorService, transport);
