/**
 * The input of a step with the task `http`: a request with the rules by which its answer becomes an
 * outcome, and the requests that verify and undo its effect. All three tasks of a step get the same
 * input; the kind of the task picks the part.
 */
import { type Checked, checkOf, type Schema } from "../schema-check.ts";
import { DURATION, mapOf, namedMap } from "../settings-file.ts";
import { HEADER_NAME } from "./settings.ts";

/** A status as 404, a class as "4xx", or a range as "500-599". */
export type StatusPattern = number | string;

export interface RequestInput {
  /** Default GET; with a body POST. */
  readonly method?: string;
  readonly url?: string;
  /** Appended to the path of `url`, each percent-encoded. */
  readonly path?: readonly (string | number)[];
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** Names of secrets, by the header that carries them. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Expressions. Their values replace `url`, `path`, `body`, and add to `query`, `headers`. */
  readonly compute?: Readonly<Partial<Record<ComputedPart, string>>>;
  readonly timeout?: string;
  /** Most redirects that are followed, within the host. Default 0. */
  readonly redirects?: number;
}

export type QueryValue = string | number | boolean | null | readonly (string | number | boolean)[];
export type ComputedPart = "url" | "path" | "query" | "headers" | "body";

export interface AnswerRule {
  readonly status?: readonly StatusPattern[];
  readonly when?: string;
  readonly outcome: "success" | "transient" | "permanent" | "unknown" | "deferred";
  /** Default "http-" and the status. */
  readonly code?: string;
  /** States that nothing exists at the service, neither from this attempt nor from earlier ones. */
  readonly no_effect?: boolean;
}

export interface OperationInput extends RequestInput {
  readonly success?: { readonly status?: readonly StatusPattern[]; readonly when?: string };
  /** The first that fits decides; before all else. */
  readonly answers?: readonly AnswerRule[];
  /** The expression of the output. Default: status, headers and body. */
  readonly output?: string;
  /** How to wait for what was answered with 202 and a Location. */
  readonly poll?: { readonly every?: string; readonly until?: string };
}

export interface VerifyInput extends RequestInput {
  readonly did: string;
  readonly did_not: string;
  /** Default: that of the step. */
  readonly output?: string;
}

export interface HttpInput extends OperationInput {
  readonly verify?: VerifyInput;
  readonly undo?: OperationInput;
}

const EXPRESSION: Schema = { type: "string", minLength: 1 };
const STATUS: Schema = {
  type: ["integer", "string"],
  minimum: 100,
  maximum: 599,
  pattern: "^([1-5]xx|\\d{3}-\\d{3})$",
  description: 'a status as 404, a class as "4xx" or a range as "500-599"',
};
const STATUSES: Schema = { type: "array", items: STATUS, minItems: 1 };
const SCALAR = ["string", "number", "boolean"];

const REQUEST: Readonly<Record<string, Schema>> = {
  method: { enum: ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] },
  url: { type: "string", minLength: 1, maxLength: 8_192 },
  path: { type: "array", items: { type: ["string", "number"], minLength: 1 } },
  query: {
    type: "object",
    additionalProperties: { type: [...SCALAR, "null", "array"], items: { type: SCALAR } },
  },
  headers: namedMap({ type: ["string", "number"] }, HEADER_NAME),
  secrets: namedMap({ type: "string" }, HEADER_NAME),
  body: {},
  compute: mapOf({
    url: EXPRESSION,
    path: EXPRESSION,
    query: EXPRESSION,
    headers: EXPRESSION,
    body: EXPRESSION,
  }),
  timeout: DURATION,
  redirects: { type: "integer", minimum: 0, maximum: 10 },
};

const RULE: Schema = mapOf(
  {
    status: STATUSES,
    when: EXPRESSION,
    outcome: { enum: ["success", "transient", "permanent", "unknown", "deferred"] },
    code: { type: "string", pattern: "^(?!drover\\.)[A-Za-z0-9._-]{1,128}$" },
    no_effect: { type: "boolean" },
  },
  ["outcome"],
);

const OPERATION: Readonly<Record<string, Schema>> = {
  ...REQUEST,
  success: mapOf({ status: STATUSES, when: EXPRESSION }),
  answers: { type: "array", items: RULE, maxItems: 100 },
  output: EXPRESSION,
  poll: mapOf({ every: DURATION, until: EXPRESSION }),
};

const VERIFY: Schema = mapOf(
  { ...REQUEST, did: EXPRESSION, did_not: EXPRESSION, output: EXPRESSION },
  ["did", "did_not"],
);

const INPUT: Schema = mapOf({ ...OPERATION, verify: VERIFY, undo: mapOf(OPERATION) });

export const checkHttpInput: (value: unknown) => Checked<HttpInput> = checkOf<HttpInput>(INPUT);
