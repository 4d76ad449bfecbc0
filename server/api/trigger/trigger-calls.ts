// Triggers: put, get, list and delete them; list what they refused; try what one would do.
import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type {
  PutTriggerRequest,
  TryTriggerRequest,
  TryTriggerResponseSchema,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import { isEndKind } from "../../core/model/model.ts";
import { DroverError } from "../../errors.ts";
import type { TriggerFacts } from "../../expressions/trigger-mapping.ts";
import type { TriggerWork } from "../../integrations/triggers/trigger-work.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import type { AuditAction, AuditDetails, AuditEntry } from "../../store/audit.ts";
import type { Namespace } from "../../store/store.ts";
import type { KnownTrigger, TriggerRecord } from "../../store/triggers.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadFrom } from "../calls/payload.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { type RunLookup, runRemoved } from "../run/run-lookup.ts";
import { askedMessage, refusalMessage, triggerMessage } from "./convert-trigger.ts";
import { type SoundTrigger, triggerOfMessage, triggerOfText } from "./trigger-definition.ts";

interface TriggerCallDeps {
  readonly store: Pick<WholeStore, "triggers" | "lists">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "check">;
  readonly triggers: TriggerWork;
}

type TriggerCalls =
  | "putTrigger"
  | "getTrigger"
  | "listTriggers"
  | "deleteTrigger"
  | "listRefusals"
  | "tryTrigger";

const PAGE_SIZE_DEFAULT = 50;

const starts =
  (workflow: string) =>
  ({ definition: { action } }: TriggerRecord) =>
    action.kind === "schedule" && action.workflow === workflow;

export function createTriggerCalls(
  deps: TriggerCallDeps,
  runs: RunLookup,
): Pick<Handlers<typeof OperatorService>, TriggerCalls> {
  const { store, namespaces } = deps;

  async function known(namespace: Namespace, name: string): Promise<KnownTrigger> {
    const found = await store.triggers.find(namespace.id, name);
    if (found) return found;
    const message = `there is no trigger "${name}" in namespace "${namespace.name}": put it first`;
    throw new DroverError("TRIGGER_NOT_FOUND", message, { metadata: { name } });
  }

  return {
    async putTrigger(request, who) {
      const namespace = await namespaces.find(request.namespace);
      const { definition } = soundFrom(deps, request.source);
      const secret = secretFrom(request, definition.source.kind === "http");
      const entry = triggerEntry(who, "trigger.put", namespace, definition.name, {
        source: definition.source.kind,
        new_secret: secret !== null,
      });
      const trigger = { namespaceId: namespace.id, definition, secret };
      const put = await store.triggers.put(trigger, entry);
      if (!put) throw noSecret();
      const stored = await known(namespace, definition.name);
      return { created: put.created, trigger: triggerMessage(stored, namespace.name) };
    },
    async getTrigger(request) {
      const namespace = await namespaces.find(request.namespace);
      return { trigger: triggerMessage(await known(namespace, request.name), namespace.name) };
    },
    async listTriggers(request) {
      const namespace = await namespaces.find(request.namespace);
      const all = await store.lists.triggers(namespace.id);
      const triggers = request.workflow === "" ? all : all.filter(starts(request.workflow));
      return { triggers: triggers.map((one) => triggerMessage(one, namespace.name)) };
    },
    async deleteTrigger({ namespace: of, name }, who) {
      const namespace = await namespaces.find(of);
      const entry = triggerEntry(who, "trigger.delete", namespace, name);
      return { deleted: await store.triggers.delete(namespace.id, name, entry) };
    },
    async listRefusals({ namespace: name, trigger, pageSize }) {
      const namespace = await namespaces.find(name);
      const limit = pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize;
      const of = trigger === "" ? null : trigger;
      return {
        refusals: (await store.lists.refusals(namespace.id, of, limit)).map(refusalMessage),
      };
    },
    async tryTrigger(request) {
      const namespace = await namespaces.find(request.namespace);
      return tried(await toTry(request, namespace), await factsFrom(deps, runs, request));
    },
  };

  async function toTry({ of }: TryTriggerRequest, namespace: Namespace): Promise<SoundTrigger> {
    if (of.case !== "name") return soundFrom(deps, of);
    const { definition } = await known(namespace, of.value);
    const compiled = deps.triggers.compile(definition);
    if (compiled.ok) return { definition, mapping: compiled.mapping };
    throw new Error(`trigger ${of.value} was put and does not compile`);
  }
}

function triggerEntry(
  who: Who,
  action: AuditAction,
  { id: namespaceId }: Namespace,
  name: string,
  details: AuditDetails = {},
): AuditEntry {
  return auditEntry(who, { action, namespaceId, subject: ["trigger", name], details });
}

function soundFrom(deps: TriggerCallDeps, source: PutTriggerRequest["source"]): SoundTrigger {
  switch (source.case) {
    case "definition":
      return triggerOfMessage(deps, source.value);
    case "text":
      return triggerOfText(deps, source.value);
    default:
      throw new Error("a trigger without a definition has passed the rules");
  }
}

function secretFrom({ secret }: PutTriggerRequest, needed: boolean) {
  if (secret === "") return null;
  if (needed) return { value: secret, digest: createHash("sha256").update(secret).digest("hex") };
  const message = "is for calls over HTTP, and the end of a run is no call: leave it out";
  throw refusal("INVALID_REQUEST", [{ path: "secret", message }]);
}

function noSecret(): DroverError {
  const message =
    "is needed for a new trigger over HTTP, and for another kind of auth: 16 to 256 characters that cannot be guessed";
  return refusal("INVALID_REQUEST", [{ path: "secret", message }]);
}

function tried(
  { definition, mapping }: SoundTrigger,
  facts: TriggerFacts,
): MessageInitShape<typeof TryTriggerResponseSchema> {
  const wanted = definition.source.kind === "http" ? "call" : "run-end";
  if (facts.kind !== wanted) {
    const message =
      wanted === "call"
        ? "is for a trigger at the end of a run: give a body to this one"
        : "is missing: name a run that has ended";
    throw refusal("INVALID_REQUEST", [{ path: "run", message }]);
  }
  const mapped = mapping(facts);
  if (mapped.kind === "failed") throw new DroverError("MAPPING_FAILED", mapped.message);
  if (mapped.kind === "nothing") return { passes: false };
  return { passes: true, action: askedMessage(mapped.asked) };
}

async function factsFrom(
  { triggers }: TriggerCallDeps,
  runs: RunLookup,
  { namespace, run, body, headers, query }: TryTriggerRequest,
): Promise<TriggerFacts> {
  if (!run) {
    const payload = payloadFrom(body);
    const json = payload === null ? "null" : payload.kind === "json" ? payload.json : null;
    if (json === null) {
      const message = `is ${body?.contentType}, and a trigger takes JSON`;
      throw refusal("INVALID_REQUEST", [{ path: "body", message }]);
    }
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const call = { headers: Object.fromEntries(named), query: { ...query } };
    return { kind: "call", body: JSON.parse(json), ...call };
  }
  const found = await runs.find(namespace, run);
  const { runId, namespaceId, definitionId, state, reason } = found.record;
  if (isEndKind(state) && reason !== null) {
    const facts = await triggers.factsOfEnd({ runId, namespaceId, definitionId, state, reason });
    return facts ?? runRemoved(found);
  }
  throw new DroverError("RUN_STATE", `the run "${runId}" has not ended: it is ${state}`, {
    metadata: { run_id: runId, state },
  });
}
