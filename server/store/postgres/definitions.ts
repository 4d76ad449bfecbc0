// Definitions and the versions of workflows that name them, on PostgreSQL.
import { createHash } from "node:crypto";
import type { Definition } from "../../core/definition/definition.ts";
import { DroverError } from "../../errors.ts";
import { type AuditEntry, withDetails } from "../audit.ts";
import { definitionFromText, definitionText } from "../definition-text.ts";
import { definitionDeleted, namespaceDeleted } from "../namespaces.ts";
import type { Store, WorkflowVersion } from "../store.ts";
import { type Audited, recordAudit } from "./audit.ts";
import { INSERTS_MAX } from "./drawn-ids.ts";
import type { Query, Transact } from "./transaction.ts";

/** The newest version, as find_version names it. */
const NEWEST = -1;

type Definitions = Pick<
  Store,
  "internDefinition" | "definition" | "registerWorkflow" | "setDefaultVersion" | "workflowVersion"
>;

export function definitionsOf(query: Query, transact: Transact, audited: Audited): Definitions {
  return {
    internDefinition: (namespaceId, definition) => internDefinition(query, namespaceId, definition),
    definition: (id) => readDefinition(query, id),
    registerWorkflow: (workflow, audit = null) =>
      transact({}, (transaction) => registerWorkflow(transaction.query, workflow, audit)),
    async setDefaultVersion(namespaceId, name, version, audit = null) {
      const asked = { namespace_id: namespaceId, name, version };
      const [row] = await audited<{ previous_version: number }>(
        audit,
        "set_default_version",
        asked,
        (entry, [was]) =>
          was && was.previous_version !== version
            ? withDetails(entry, { before: was.previous_version })
            : null,
      );
      return row?.previous_version ?? null;
    },
    workflowVersion: (namespaceId, name, version) => findVersion(query, namespaceId, name, version),
  };
}

async function internDefinition(
  query: Query,
  namespaceId: number,
  definition: Definition,
): Promise<number> {
  const body = definitionText(definition);
  const digest = createHash("sha256").update(body).digest("hex");
  const find = () =>
    query<{ id: number; unused: boolean }>("find_definition", {
      namespace_id: namespaceId,
      digest,
    });
  const [known] = await find();
  if (known && (!known.unused || (await query("keep_definition", { id: known.id })).length > 0))
    return known.id;
  for (let tries = 0; tries < INSERTS_MAX; tries++) {
    await query("intern_definition", { namespace_id: namespaceId, digest, body });
    const [made] = await find();
    if (made) return made.id;
  }
  throw namespaceDeleted();
}

async function readDefinition(query: Query, id: number): Promise<Definition> {
  const [row] = await query<{ body: string }>("get_definition", { id });
  if (!row) throw new DroverError("INTERNAL", `definition ${id} is not stored`);
  return definitionFromText(row.body);
}

async function registerWorkflow(
  query: Query,
  workflow: Parameters<Store["registerWorkflow"]>[0],
  audit: AuditEntry | null,
): Promise<{ version: number; created: boolean }> {
  const { namespaceId, name, definitionId, keepDefault } = workflow;
  const [row] = await query<{ default_version: number; latest_version: number }>("lock_workflow", {
    namespace_id: namespaceId,
    name,
  });
  const latest = row?.latest_version ?? 0;
  const [known] = await query<{ version: number }>("find_version_of", {
    namespace_id: namespaceId,
    name,
    definition_id: definitionId,
  });
  const version = known?.version ?? latest + 1;
  if (!known) {
    const added = { namespace_id: namespaceId, name, version, definition_id: definitionId };
    if ((await query("insert_version", added)).length === 0) throw definitionDeleted();
  }
  const before = row?.default_version ?? 0;
  const isDefault = before === 0 || (!known && !keepDefault);
  await query("set_versions", {
    namespace_id: namespaceId,
    name,
    latest_version: Math.max(latest, version),
    default_version: isDefault ? version : before,
  });
  if (!known && audit)
    await recordAudit(query, withDetails(audit, { version, default: isDefault }));
  return { version, created: !known };
}

async function findVersion(
  query: Query,
  namespaceId: number,
  name: string,
  version: number | "newest",
): Promise<WorkflowVersion | null> {
  const [row] = await query<{
    definition_id: number;
    version: number;
    created_at: number;
  }>("find_version", {
    namespace_id: namespaceId,
    name,
    version: version === "newest" ? NEWEST : version,
  });
  if (!row) return null;
  const { definition_id: definitionId, created_at: createdAt } = row;
  return { definitionId, version: row.version, createdAt };
}
