// The audit of a namespace: who changed what, newest first.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { AuditEntrySchema, ListAuditRequest } from "@drover/proto/drover/v1/audit_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  AUDIT_ACTIONS,
  AUDIT_SUBJECTS,
  type AuditAction,
  type AuditPage,
  type AuditPlace,
  type AuditRecord,
  EVERY_NAMESPACE,
} from "../../store/audit.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import { isUuid } from "../../uuid.ts";
import { everyNamespace } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import { epochMsFrom } from "../calls/time-field.ts";
import { pageOf } from "../run/run-list.ts";
import { ROLES } from "./token-calls.ts";

interface AuditListDeps {
  readonly store: Pick<OperatorStore, "operators">;
  readonly namespaces: Namespaces;
}

export function createAuditCalls({
  store,
  namespaces,
}: AuditListDeps): Pick<Handlers<typeof OperatorService>, "listAudit"> {
  async function namespaceIdOf(
    { namespace, allNamespaces }: ListAuditRequest,
    caller: Caller | null,
  ): Promise<number> {
    if (!allNamespaces) return (await namespaces.find(namespace)).id;
    if (namespace !== "") {
      const message = "means nothing with all_namespaces: leave one of them out";
      throw refusal("INVALID_REQUEST", [{ path: "namespace", message }]);
    }
    if (caller) everyNamespace(caller);
    return EVERY_NAMESPACE;
  }

  return {
    async listAudit(request, { caller }) {
      const namespaceId = await namespaceIdOf(request, caller);
      const filter = filterFrom(request);
      const list = `audit ${namespaceId} ${JSON.stringify(filter)}`;
      const { limit } = pageOf(list, request.pageSize);
      const last = parsePageToken(list, request.pageToken, (item) => placeFrom(item) !== null);
      const after = last === null ? null : placeFrom(last);
      const { entries, next } = await store.operators.audit(namespaceId, {
        ...filter,
        after,
        limit,
      });
      return {
        entries: entries.map(entryMessage),
        nextPageToken: next === null ? "" : formatPageToken(list, `${next.at} ${next.id}`),
      };
    },
  };
}

function filterFrom(request: ListAuditRequest): Omit<AuditPage, "after" | "limit"> {
  return {
    subject: subjectFrom(request),
    actions: request.actions.map(actionFrom).sort(),
    by: request.by || null,
    token: request.token || null,
    from: epochMsFrom(request.after, "after"),
    until: epochMsFrom(request.before, "before"),
  };
}

function subjectFrom({ subject }: ListAuditRequest): AuditPage["subject"] {
  if (!subject) return null;
  const kind = AUDIT_SUBJECTS.find((one) => one === subject.kind);
  if (kind) return { kind, name: kind === "run" ? subject.name.toLowerCase() : subject.name };
  const message = `"${subject.kind}" is no kind: the kinds are ${AUDIT_SUBJECTS.join(", ")}`;
  throw refusal("INVALID_REQUEST", [{ path: "subject.kind", message }]);
}

function actionFrom(given: string, index: number): AuditAction {
  const action = AUDIT_ACTIONS.find((one) => one === given);
  if (action) return action;
  const message = `"${given}" is no action of this server: its actions are ${AUDIT_ACTIONS.join(", ")}`;
  throw refusal("INVALID_REQUEST", [{ path: `actions[${index}]`, message }]);
}

function placeFrom(text: string): AuditPlace | null {
  const [at = "", id = ""] = text.split(" ");
  return /^\d{1,15}$/.test(at) && isUuid(id) ? { at: Number(at), id } : null;
}

function entryMessage(record: AuditRecord): MessageInitShape<typeof AuditEntrySchema> {
  const { id, at, action, subject, by, byVerified, token, peer, reason, details } = record;
  return {
    id,
    time: timestampFromMs(at),
    action,
    subject,
    by,
    byVerified,
    ...(token ? { tokenId: token.id, tokenName: token.name, tokenRole: ROLES[token.role] } : {}),
    peer,
    reason,
    details: Object.fromEntries(
      Object.entries(details).map(([name, value]) => [
        name,
        typeof value === "object" && value !== null ? [...value] : value,
      ]),
    ),
  };
}
