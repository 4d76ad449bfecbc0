// Interventions over the runs of a namespace, newest first.
import type { ListInterventionsRequest } from "@drover/proto/drover/v1/intervention_pb.ts";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Rule } from "../../core/model/history.ts";
import type { InterventionPlace } from "../../store/operators.ts";
import { isUuid } from "../../uuid.ts";
import { refusal } from "../calls/errors.ts";
import type { Handlers } from "../calls/mount.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { epochMsFrom } from "../calls/time-field.ts";
import { interventionMessage } from "../run/convert-history.ts";
import { pageOf } from "../run/run-list.ts";
import { createPlans, type OperatorCallDeps } from "./agent-list.ts";

/** All rules. */
const RULES: Readonly<Record<Rule, true>> = Object.freeze({
  start: true,
  lease: true,
  delivery: true,
  attempt: true,
  stall: true,
  pickup: true,
  total: true,
  backoff: true,
  settle: true,
  timer: true,
  signal: true,
  approval: true,
  callback: true,
  deadline: true,
  "late-effect": true,
  forgotten: true,
  slow: true,
  "agent-circuit": true,
  "queue-circuit": true,
  integrity: true,
  failing: true,
});
export const EVERY_RULE: readonly Rule[] = Object.keys(RULES).filter(isRule);

export function createInterventionCalls(
  deps: OperatorCallDeps,
): Pick<Handlers<typeof OperatorService>, "listInterventions"> {
  const plans = createPlans(deps);
  return {
    async listInterventions(request) {
      const { id } = await deps.namespaces.find(request.namespace);
      const filter = filterFrom(request);
      const list = `interventions ${id} ${JSON.stringify(filter)}`;
      const page = pageOf(list, request.pageSize);
      const last = parsePageToken(list, request.pageToken, (item) => placeFrom(item) !== null);
      const after = last === null ? null : placeFrom(last);
      const asked = { ...filter, after, limit: page.limit + 1 };
      const rows = await deps.store.operators.interventions(id, asked);
      const planOf = plans();
      const shown = rows.slice(0, page.limit).map(async (row) => {
        const plan = await planOf(row);
        return { ...interventionMessage(row, plan, []), attempt: row.attempt };
      });
      return {
        interventions: await Promise.all(shown),
        nextPageToken: page.nextToken(rows, placeText),
      };
    },
  };
}

function filterFrom(request: ListInterventionsRequest) {
  return {
    rules: request.rules.length === 0 ? null : request.rules.map(ruleFrom).sort(),
    runId: request.runId.toLowerCase() || null,
    from: epochMsFrom(request.actedAfter, "acted_after"),
    until: epochMsFrom(request.actedBefore, "acted_before"),
  };
}

function ruleFrom(rule: string, index: number): Rule {
  if (isRule(rule)) return rule;
  const known = EVERY_RULE.join(", ");
  const message = `"${rule}" is no rule of this server: its rules are ${known}`;
  throw refusal("INVALID_REQUEST", [{ path: `rules[${index}]`, message }]);
}

function isRule(text: string): text is Rule {
  return Object.hasOwn(RULES, text);
}

function placeText({ actedAt, runId, step, fence, rule, n }: InterventionPlace): string {
  return [actedAt, runId, step ?? -1, fence, rule, n].join(" ");
}

/** Parses what `placeText` writes; null: the text has another form. */
function placeFrom(text: string): InterventionPlace | null {
  const [actedAt, runId = "", step, fence, rule = "", n] = text.split(" ");
  const numbers = [actedAt, step, fence, n].map(Number);
  const [at = 0, no = 0, of = 0, number = 0] = numbers;
  if (!numbers.every(Number.isSafeInteger) || !isUuid(runId) || !isRule(rule)) return null;
  return { actedAt: at, runId, step: no === -1 ? null : no, fence: of, rule, n: number };
}
