// The clients of the server's services: Connect over HTTP on the origin of this page, as for any
// client.
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { person, signedIn, token } from "../shell/session.ts";

const authorize: Interceptor = (next) => (request) => {
  const held = token();
  if (held !== null) request.header.set("authorization", `Bearer ${held}`);
  return next(request);
};

/**
 * Says who calls, for the audit, unless the token does. Percent-encoded: a header has no other
 * characters.
 */
const name: Interceptor = (next) => (request) => {
  const by = signedIn() === null ? person() : "";
  if (by !== "") request.header.set("drover-by", encodeURIComponent(by));
  return next(request);
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize, name],
});

export const scheduler = createClient(SchedulerService, transport);
export const operator = createClient(OperatorService, transport);
