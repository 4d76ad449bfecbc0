// Hooks and their deliveries: put, list and delete hooks; list what was delivered and what was not.
import { createHash } from "node:crypto";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  ListDeliveriesRequest,
  OperatorService,
  PutHookRequest,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Notify as NotifyMessage } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WholeStore } from "../../store/all-shards.ts";
import type { AuditAction, AuditDetails, AuditEntry } from "../../store/audit.ts";
import type {
  DeliveryRecord,
  DeliveryState,
  HookRecord,
  Notify,
  OutboxKind,
} from "../../store/outbox.ts";
import type { Namespace } from "../../store/store.ts";
import { isUuid } from "../../uuid.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { timeField } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";

interface HookDeps {
  readonly store: Pick<WholeStore, "outbox" | "lists">;
  readonly namespaces: Namespaces;
}

type HookCalls = "putHook" | "listHooks" | "deleteHook" | "listDeliveries";

export function createHookCalls({
  store,
  namespaces,
}: HookDeps): Pick<Handlers<typeof OperatorService>, HookCalls> {
  return {
    async putHook(request, who) {
      const namespace = await namespaces.find(request.namespace);
      const { name, url } = request;
      checkUrl("url", url);
      const secret = secretFrom(request);
      const events = request.events as OutboxKind[];
      const entry = hookEntry(who, "hook.put", namespace, name, {
        url,
        events,
        new_secret: secret !== null,
      });
      const hook = { namespaceId: namespace.id, name, url, events, secret };
      const put = await store.outbox.putHook(hook, entry);
      if (put) return put;
      const message = "is needed for a new hook: 16 to 256 characters that cannot be guessed";
      throw refusal("INVALID_REQUEST", [{ path: "secret", message }]);
    },
    async listHooks(request) {
      const namespace = await namespaces.find(request.namespace);
      return { hooks: (await store.outbox.hooks(namespace.id)).map(hookMessage) };
    },
    async deleteHook({ namespace: of, name }, who) {
      const namespace = await namespaces.find(of);
      const entry = hookEntry(who, "hook.delete", namespace, name);
      return { deleted: await store.outbox.deleteHook(namespace.id, name, entry) };
    },
    async listDeliveries(request) {
      const namespace = await namespaces.find(request.namespace);
      const { page, query } = deliveryPageFrom(request, namespace.id);
      const limit = page.limit + 1;
      const rows = await store.lists.deliveries(namespace.id, { ...query, limit });
      return {
        deliveries: rows.slice(0, page.limit).map(deliveryMessage),
        nextPageToken: page.nextToken(rows, ({ createdAt, id }) => `${createdAt} ${id}`),
      };
    },
  };
}

function hookEntry(
  who: Who,
  action: AuditAction,
  { id: namespaceId }: Namespace,
  name: string,
  details: AuditDetails = {},
): AuditEntry {
  return auditEntry(who, { action, namespaceId, subject: ["hook", name], details });
}

/** The hook or URL that Schedule names. */
export function notifyFrom(notify: NotifyMessage | undefined): Notify | null {
  if (!notify) return null;
  if (notify.url !== "") checkUrl("notify.url", notify.url);
  return { hook: notify.hook, url: notify.url === "" ? null : notify.url };
}

/** Checks only the form of a URL. Its address is checked at each connection. */
function checkUrl(path: string, text: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  const message =
    url?.protocol !== "http:" && url?.protocol !== "https:"
      ? `"${text}" is no http or https URL`
      : url.username !== "" || url.password !== "" || url.hash !== ""
        ? "has a user, a password or a fragment: leave it out"
        : null;
  if (message !== null) throw refusal("INVALID_REQUEST", [{ path, message }]);
}

function secretFrom({ secret }: PutHookRequest) {
  if (secret === "") return null;
  return { value: secret, digest: createHash("sha256").update(secret).digest("hex") };
}

function deliveryPageFrom(
  { hook, states: asked, pageSize, pageToken }: ListDeliveriesRequest,
  namespaceId: number,
) {
  const states = asked as DeliveryState[];
  const list = `deliveries ${namespaceId} ${hook} ${[...states].sort().join(",")}`;
  const after = placeFrom(parsePageToken(list, pageToken, isPlace));
  const query = { states, hook: hook === "" ? null : hook, after };
  return { page: pageOf(list, pageSize), query };
}

function isPlace(text: string): boolean {
  const [createdAt = "", id = "", ...more] = text.split(" ");
  return /^\d{1,15}$/.test(createdAt) && isUuid(id) && more.length === 0;
}

function placeFrom(text: string | null): Pick<DeliveryRecord, "createdAt" | "id"> | null {
  if (text === null) return null;
  const [createdAt, id = ""] = text.split(" ");
  return { createdAt: Number(createdAt), id };
}

function hookMessage(hook: HookRecord) {
  const { name, url, events, secretDigest, createdAt, changedAt } = hook;
  return {
    name,
    url,
    events: [...events],
    secretDigest,
    createdTime: timestampFromMs(createdAt),
    changedTime: timestampFromMs(changedAt),
  };
}

function deliveryMessage(record: DeliveryRecord) {
  const { id, hook, url, kind, count, runId, n, state, tries, error, createdAt } = record;
  return {
    id,
    hook,
    url: url ?? "",
    kind,
    count,
    runId,
    escalationId: n === 0 || kind === "approval-requested" ? "" : String(n),
    state,
    tries,
    error: error ?? "",
    createdTime: timestampFromMs(createdAt),
    ...timeField("endedTime", record.endedAt),
    ...timeField("nextTryTime", record.nextTryAt),
  };
}
