/** An open approval in words: who may decide, who has approved, and the command that decides. */
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { ApprovalExpiry } from "@drover/proto/drover/v1/workflow_pb.ts";
import { clean } from "./words.ts";

/** `treasury, ada` */
export function approverWords({ approvers, notRequester }: Approval): string {
  const who = approvers.length === 0 ? "anyone" : approvers.map(clean).join(", ");
  return notRequester ? `${who}; not the requester` : who;
}

/** `1 of 2 (ada)` */
/** `names`: as they are shown. */
export function approvedWords(
  { approvedBy, need }: Approval,
  names: readonly string[] = approvedBy.map(clean),
): string {
  const count = `${approvedBy.length} of ${need}`;
  return names.length === 0 ? count : `${count} (${names.join(", ")})`;
}

const afterDeadline: Readonly<Record<ApprovalExpiry, string>> = {
  [ApprovalExpiry.UNSPECIFIED]: "",
  [ApprovalExpiry.ESCALATE]: "escalate",
  [ApprovalExpiry.REJECT]: "reject",
  [ApprovalExpiry.APPROVE]: "approve",
};

/** `2026-01-01 10:00:00Z, then escalate`; `time`: the deadline in words. */
export function deadlineWords({ onExpiry }: Approval, time: string): string {
  return `${time}, then ${afterDeadline[onExpiry]}`;
}

/** Complete but for the name of the person, and the values of the form. */
export function decideCommand(approval: Approval): string {
  const form = formSchema(approval);
  const filledIn = form === null ? "" : ` --form ${quoted(JSON.stringify(exampleOf(form)))}`;
  return `${decideStep(approval)} --approve --by NAME${filledIn}`;
}

export function rejectCommand(approval: Approval): string {
  return `${decideStep(approval)} --reject --by NAME --reason TEXT`;
}

function decideStep({ runId, stepId }: Approval): string {
  return `drover approval decide ${clean(runId)} ${clean(stepId)}`;
}

/** The schema as text; null: there is no form. */
function formSchema({ form }: Approval): unknown {
  return form?.body.case === "json" ? JSON.parse(form.body.value) : null;
}

/** A form with a placeholder for each property of the schema. */
function exampleOf(schema: unknown): unknown {
  const properties = at(schema, "properties");
  const required = at(schema, "required");
  const names = [
    ...Object.keys(isObject(properties) ? properties : {}),
    ...(Array.isArray(required) ? required.map(String) : []),
  ];
  return Object.fromEntries(names.map((name) => [name, placeholder(at(properties, name))]));
}

function placeholder(schema: unknown): unknown {
  const options = at(schema, "enum");
  if (Array.isArray(options)) return options[0];
  switch (at(schema, "type")) {
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return exampleOf(schema);
    default:
      return "TEXT";
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function at(value: unknown, key: string): unknown {
  return isObject(value) ? Reflect.get(value, key) : undefined;
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${clean(text).replaceAll("'", "'\\''")}'`;
}
