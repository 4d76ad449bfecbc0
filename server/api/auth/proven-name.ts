// The name of a caller that has proved it, by a JWT or a client certificate. A request that says
// who acts leaves the name empty, or gives the proved one: it has that name when it reaches its
// handler. Roles that approvals may name are proved in the same way.
//
//   empty → filled in       the same → kept       another → NOT_ALLOWED
import { type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  DecideRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { DroverError } from "../../errors.ts";
import { type Caller, callerWords } from "./caller.ts";
import { fullNameOf } from "./roles.ts";

const { decide } = SchedulerService.method;
const operator = OperatorService.method;

/** By the full name of its RPC, the field that says who acts. */
const NAME_FIELDS: ReadonlyMap<string, string> = new Map([
  [fullNameOf(decide), "approver"],
  ...[
    operator.setCircuit,
    operator.cordonAgent,
    operator.completeStep,
    operator.resolveEscalation,
    operator.claimEscalation,
    operator.releaseEscalation,
    operator.createToken,
    operator.revokeToken,
  ].map((method) => [fullNameOf(method), "by"] as const),
]);

/** null: a name that the caller gives is only claimed. */
export function provenName(caller: Caller | null): string | null {
  return caller === null || caller.proof === "token" ? null : caller.name;
}

/** Throws NOT_ALLOWED if the caller has proved another name. */
export function refuseOtherName(caller: Caller | null, claimed: string): void {
  const proven = provenName(caller);
  if (caller === null || proven === null || claimed === "" || claimed === proven) return;
  throw notProven(caller, `and the call gives the name "${claimed}": leave it out`);
}

/** Puts into the request what the caller has proved. Throws NOT_ALLOWED if it claims more. */
export function fillProven(method: DescMethod, request: Message, caller: Caller | null): void {
  const field = NAME_FIELDS.get(fullNameOf(method));
  if (caller === null || field === undefined || provenName(caller) === null) return;
  refuseOtherName(caller, String(Reflect.get(request, field)));
  Reflect.set(request, field, caller.name);
  if (!isMessage(request, DecideRequestSchema)) return;
  const more = request.roles.filter((role) => !caller.groups.includes(role));
  if (more.length > 0)
    throw notProven(caller, `and proves no role ${more.join(", ")}: leave the roles out`);
  request.roles = [...caller.groups];
}

function notProven(caller: Caller, why: string): DroverError {
  const { name, role } = caller;
  return new DroverError("NOT_ALLOWED", `${callerWords(caller)} proves who calls, ${why}.`, {
    metadata: { token: name, role, needs: `the name ${name}` },
  });
}
