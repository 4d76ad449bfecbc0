// Triggers, the ended runs that they wait for, and refusals, on PostgreSQL.

import type { TriggerDefinition } from "../../core/definition/trigger.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { isEnded } from "../../core/model/model.ts";
import { decodePageHead } from "../../core/page/codec.ts";
import { withDetails } from "../audit.ts";
import type { Lists } from "../lists.ts";
import { triggerFromText, triggerText } from "../trigger-text.ts";
import {
  END_AGAIN_MS,
  type EndedFor,
  type KnownTrigger,
  REFUSALS_MAX,
  type RefusalRecord,
  type Triggers,
} from "../triggers.ts";
import { type Audited, recordAudit } from "./audit.ts";
import { runStates } from "./codes.ts";
import { columns } from "./columns.ts";
import type { Query, Transact } from "./transaction.ts";

export function createTriggers(query: Query, transact: Transact, audited: Audited): Triggers {
  return Object.freeze({
    async put({ namespaceId, definition, secret }, audit = null) {
      const { name, source } = definition;
      const auth = source.kind === "http" ? source.auth.kind : null;
      const [row] = await audited<{ created: boolean }>(
        audit,
        "put_trigger",
        {
          namespace_id: namespaceId,
          name,
          auth,
          workflow: source.kind === "run-end" ? source.workflow : null,
          states: source.kind === "run-end" ? source.states.map(runStates.code) : [],
          body: triggerText(definition),
          secret: auth === "hmac" ? (secret?.value ?? null) : null,
          secret_digest: auth === null ? null : (secret?.digest ?? null),
        },
        (entry, [put]) => (put ? withDetails(entry, { created: put.created }) : null),
      );
      return row ?? null;
    },
    async find(namespaceId, name) {
      const [row] = await query<TriggerRow>("find_trigger", { namespace_id: namespaceId, name });
      return row ? knownOf(row) : null;
    },
    delete: (namespaceId, name, audit = null) =>
      transact({}, async ({ query: within }) => {
        const key = { namespace_id: namespaceId, name };
        const deleted = await within("delete_trigger", key);
        if (deleted.length === 0) return false;
        await within("delete_refusals", key);
        await recordAudit(within, audit);
        return true;
      }),
    async refuse(refused) {
      if (refused.length === 0) return;
      await query(
        "refuse_calls",
        columns(refused, {
          namespace_id: (one) => one.namespaceId,
          trigger: (one) => one.trigger,
          reason: (one) => one.reason,
          message: (one) => one.message,
          run_id: (one) => one.runId,
          count: (one) => one.count,
        }),
      );
      const of = new Map(refused.map((one) => [`${one.namespaceId}/${one.trigger}`, one]));
      const triggers = columns([...of.values()], {
        namespace_id: (one) => one.namespaceId,
        trigger: (one) => one.trigger,
      });
      await query("trim_refusals", { ...triggers, refusals_max: REFUSALS_MAX });
    },
    async ended(partitions, limit) {
      return (await query<EndRow>("due_ends", { partitions, limit })).map(endOf);
    },
    async settle(settled) {
      const done = settled.filter(({ again }) => !again);
      const later = settled.filter(({ again }) => again).map(({ id }) => id);
      if (done.length > 0)
        await query(
          "settle_ends",
          columns(done, { id: ({ id }) => id, run_id: ({ began }) => began }),
        );
      if (later.length > 0) await query("postpone_ends", { ids: later, delay: END_AGAIN_MS });
    },
  } satisfies Triggers);
}

export function triggerLists(query: Query): Pick<Lists, "triggers" | "refusals"> {
  return {
    async triggers(namespaceId) {
      const rows = await query<Omit<TriggerRow, "secret">>("list_triggers", {
        namespace_id: namespaceId,
      });
      return rows.map((row) => {
        const { secret: _, ...record } = knownOf({ ...row, secret: null });
        return record;
      });
    },
    async refusals(namespaceId, trigger, limit) {
      const rows = await query<RefusalRow>("list_refusals", {
        namespace_id: namespaceId,
        trigger,
        limit,
      });
      return rows.map(refusalOf);
    },
  };
}

interface TriggerRow {
  body: string;
  secret: string | null;
  secret_digest: string | null;
  created_at: EpochMs;
  changed_at: EpochMs;
}

function knownOf(row: TriggerRow): KnownTrigger {
  return {
    definition: triggerFromText(row.body),
    secret: row.secret,
    secretDigest: row.secret_digest,
    createdAt: row.created_at,
    changedAt: row.changed_at,
  };
}

interface RefusalRow {
  trigger: string;
  reason: string;
  message: string;
  run_id: string | null;
  count: number;
  first_at: EpochMs;
  last_at: EpochMs;
}

function refusalOf(row: RefusalRow): RefusalRecord {
  return {
    trigger: row.trigger,
    reason: row.reason,
    message: row.message,
    runId: row.run_id,
    count: row.count,
    firstAt: row.first_at,
    lastAt: row.last_at,
  };
}

interface EndRow {
  id: string;
  trigger: string;
  body: string | null;
  namespace_id: number;
  namespace: string;
  region: number;
  run_id: string;
  definition_id: number;
  /** The first line of the run's first page. */
  head: string;
  depth: number;
}

function endOf(row: EndRow): EndedFor {
  const { state } = decodePageHead(row.head).run;
  if (!isEnded(state)) throw new Error(`run ${row.run_id} has ended as ${state.kind}`);
  const definition: TriggerDefinition | null = row.body === null ? null : triggerFromText(row.body);
  return {
    id: row.id,
    trigger: row.trigger,
    definition,
    namespace: { id: row.namespace_id, name: row.namespace, region: row.region },
    runId: row.run_id,
    definitionId: row.definition_id,
    state: state.kind,
    reason: state.reason,
    depth: row.depth,
  };
}
