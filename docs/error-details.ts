/**
 * What the pages of error reasons say beside the comment of the reason in the contract: which calls
 * are answered with it, whether repeating the call helps, and a sentence that a server writes.
 */
import type { Reason } from "../server/errors.ts";

/**
 * Repeating a call never does harm. never: the same call fails again. later: it succeeds once
 * something else has changed. delay: nothing was changed, so it may succeed after the delay of
 * RetryInfo. unknown: it may have taken effect, and repeating it unchanged finds out.
 */
export type Repeat = "never" | "later" | "delay" | "unknown";

export interface ErrorDetail {
  /** Which calls or items are answered with it, as a sentence. */
  readonly arises: string;
  readonly repeat: Repeat;
  /** The message of an error, as the server writes it. A test finds it in the server's code. */
  readonly example: string;
}

export const ERROR_DETAILS: Readonly<Record<Reason, ErrorDetail>> = {
  INVALID_REQUEST: {
    arises: "Every call, before anything is done; a single item of a call that takes several.",
    repeat: "never",
    example: "The input breaks the workflow's schema: /seats must be a number",
  },
  INVALID_DEFINITION: {
    arises: "RegisterWorkflow, PutTrigger, CreateSchedule and what checks a text without a server.",
    repeat: "never",
    example:
      'The workflow text has a problem. steps[1].needs[0]: step "hotel" needs "fligth", which is no step of this workflow: did you mean "flight"? (line 6, column 13)',
  },
  NOT_SUPPORTED: {
    arises:
      "No call. A server or supervisor writes it to its log if it reaches its database through a transaction pooler alone.",
    repeat: "never",
    example:
      "the database is reached through a transaction pooler, where no session holds the locks that assign partitions to supervisors: give a second URL that leads to PostgreSQL itself, by DROVER_DIRECT_URL or --direct-database.",
  },
  PAYLOAD_TOO_LARGE: {
    arises: "Every call with an input, an output, details or a signal.",
    repeat: "never",
    example:
      "input: has 300000 bytes and may have 262144: keep it in object storage and send its address",
  },
  MESSAGE_TOO_LARGE: {
    arises: "Every call.",
    repeat: "never",
    example: "The message has more than 4194304 bytes: split the call, or send less.",
  },
  MALFORMED_MESSAGE: {
    arises: "Every call.",
    repeat: "never",
    example:
      "The bytes are no drover.v1.ScheduleRequest (premature EOF): compare the contracts of both sides.",
  },
  MALFORMED_TOKEN: {
    arises:
      "Heartbeat, Complete and AppendLogs for a task token; CompleteDeferred for a callback token.",
    repeat: "never",
    example:
      "results[0].task_token: was not issued by this server: send it exactly as it came with the task",
  },
  PAGE_TOKEN_INVALID: {
    arises: "Every call that lists page by page.",
    repeat: "never",
    example:
      "page_token: is not of this namespace, filter and order: start again at the first page",
  },
  DEADLINE_TOO_LONG: {
    arises: "Every call.",
    repeat: "never",
    example:
      "The deadline is 9936000 s away and may be at most 86400 s: set a nearer one, or none.",
  },
  NAMESPACE_NOT_FOUND: {
    arises: "Every call that names a namespace.",
    repeat: "later",
    example: 'There is no namespace "blue": check its name.',
  },
  WORKFLOW_NOT_FOUND: {
    arises:
      "Schedule, ScheduleBatch, GetWorkflow, RerunFrom, CreateSchedule and the settings of a workflow.",
    repeat: "later",
    example:
      'there is no workflow "book-holiday" version 3 in namespace "default": register it first',
  },
  RUN_NOT_FOUND: {
    arises: "Every call that names a run, by its id or its key.",
    repeat: "never",
    example:
      'There is no run with the key "order-17" in the namespace "default": check id or key; old runs are removed.',
  },
  TASK_NOT_FOUND: {
    arises: "An item of Heartbeat, Complete or AppendLogs; CompleteDeferred.",
    repeat: "never",
    example:
      "no task of this namespace has this token: report with the token of a task from PollTask",
  },
  KEY_REUSED: {
    arises: "Schedule and ScheduleBatch for the key of a run; BulkAction for its request id.",
    repeat: "never",
    example:
      'key "order-17" names run 01890a5d-ac96-774b-bcce-b302099a8057, which was scheduled by another request: use a new one for a new run',
  },
  LEASE_LOST: {
    arises: "A result of Complete; CompleteDeferred.",
    repeat: "never",
    example:
      "another task of this step was handed out since, or the step or run has ended (the run is RUNNING): the report is stored as evidence, drop the task",
  },
  TASK_OVER: {
    arises: "A result of Complete; CompleteDeferred; lines of AppendLogs that come too late.",
    repeat: "never",
    example:
      "this task was ended by a report of success before, and another outcome cannot replace it: drop the task",
  },
  RUN_STATE: {
    arises:
      "Calls that change a run: CancelRun, PauseRun, ResumeRun, RetryRun, RerunFrom, Signal, CompleteStep, EraseRun.",
    repeat: "later",
    example: 'the run "01890a5d-ac96-774b-bcce-b302099a8057" has not ended: it is RUNNING',
  },
  OVERLOADED: {
    arises: "Every call.",
    repeat: "delay",
    example: "4000 calls wait for the store already: try again a little later",
  },
  STORE_UNAVAILABLE: {
    arises: "Every call.",
    repeat: "unknown",
    example: "the database does not answer; whether this call took effect is not known: repeat it",
  },
  DRAINING: {
    arises: "Every call, while its server stops. A PollTask gets an empty answer instead.",
    repeat: "delay",
    example: "This server is about to stop: repeat it on another.",
  },
  INTERNAL: {
    arises: "Every call. The log of the server has the error with its stack.",
    repeat: "unknown",
    example: "The server has a defect, and whether the call took effect is unknown: repeat it.",
  },
  ESCALATION_NOT_FOUND: {
    arises: "GetEscalation, ResolveEscalation, ClaimEscalation, ReleaseEscalation.",
    repeat: "never",
    example:
      'The run "01890a5d-ac96-774b-bcce-b302099a8057" has no escalation "3": GetRun shows those that it has.',
  },
  STEP_NOT_FOUND: {
    arises: "Decide, CompleteStep, RerunFrom, GetStepInput, ListItems, ListLogs.",
    repeat: "never",
    example: 'The run has no step "hotle": its steps are "flight", "hotel", "car".',
  },
  ESCALATION_CLOSED: {
    arises: "ResolveEscalation, ClaimEscalation.",
    repeat: "never",
    example: "the escalation is closed: ada",
  },
  ANSWER_NOT_ALLOWED: {
    arises: "ResolveEscalation.",
    repeat: "later",
    example: '"skip" is no answer to it now: retry, compensate, fail are',
  },
  DECISION_REFUSED: {
    arises: "Decide.",
    repeat: "later",
    example: '"ada" is not an approver of this step. Approvers: finance, grace.',
  },
  SIGNAL_LIMIT: {
    arises: "Signal.",
    repeat: "never",
    example:
      'The run "01890a5d-ac96-774b-bcce-b302099a8057" already holds 1000 signals, which is the limit: send it to another run.',
  },
  SIGNAL_UNKNOWN: {
    arises: "Signal.",
    repeat: "never",
    example:
      'The run "01890a5d-ac96-774b-bcce-b302099a8057" has no step that takes the signal "payd"; it takes: paid. Did you mean "paid"?',
  },
  HOOK_NOT_FOUND: {
    arises: "Schedule and ScheduleBatch, for a run that names a hook.",
    repeat: "later",
    example: 'there is no hook "pager" in namespace "default": put it first',
  },
  ESCALATION_CLAIMED: {
    arises: "ClaimEscalation.",
    repeat: "later",
    example:
      '"ada" has the escalation "3" of the run "01890a5d-ac96-774b-bcce-b302099a8057": ask them, or set anyway to take it over.',
  },
  CONCURRENCY_LIMIT: {
    arises: "Schedule, and an item of ScheduleBatch.",
    repeat: "later",
    example:
      'concurrency key "customer-7" has 1 of 1 permits taken, by run 01890a5d-ac96-774b-bcce-b302099a8057 first: schedule it again when that has ended, or with the policy QUEUE',
  },
  COUNT_MISMATCH: {
    arises: "BulkAction.",
    repeat: "never",
    example: "the filter finds 12 runs, and 10 were expected: count again with a dry run",
  },
  SCHEDULE_NOT_FOUND: {
    arises: "Every call that names a cron schedule.",
    repeat: "later",
    example:
      'there is no schedule "nightly" in namespace "default": create it, or list the schedules',
  },
  SCHEDULE_EXISTS: {
    arises: "CreateSchedule.",
    repeat: "never",
    example:
      'there is a schedule "nightly" with another definition: update it, or use another name',
  },
  TRIGGER_NOT_FOUND: {
    arises: "GetTrigger and TryTrigger.",
    repeat: "later",
    example: 'there is no trigger "paid" in namespace "default": put it first',
  },
  MAPPING_FAILED: {
    arises: "TryTrigger, and an HTTP request to a trigger.",
    repeat: "never",
    example: "the result is larger than a payload may be, 262144 bytes",
  },
  AGENT_NOT_FOUND: {
    arises: "GetAgent, and CordonAgent for a session.",
    repeat: "never",
    example:
      'There is no agent of the session "5f1c" in the namespace "default", or it has not called for 10 minutes: list those that there are.',
  },
  NAMESPACE_EXISTS: {
    arises: "CreateNamespace.",
    repeat: "never",
    example: 'The namespace "blue" is in the region "europe", where it stays.',
  },
  NAMESPACE_LIMIT: {
    arises: "Schedule and ScheduleBatch; every call, for the limit of calls per second.",
    repeat: "delay",
    example:
      'The namespace "blue" may have 20 runs per second, and has reached that: ask again later, or raise the limit (drover namespace limit).',
  },
  TOKEN_REQUIRED: {
    arises: "Every call to a server that requires tokens.",
    repeat: "never",
    example:
      "The call has no API token, and this server requires a valid one: send it as `authorization: Bearer drover_...` (--token or DROVER_TOKEN); an admin makes one with drover token create.",
  },
  NOT_ALLOWED: {
    arises: "Every call with a valid token, JWT or client certificate.",
    repeat: "later",
    example:
      'The API token "reports" has the role "viewer", and CancelRun takes one of the roles client, operator, admin: use another one (drover token list shows them to admins).',
  },
  TOKEN_NOT_FOUND: {
    arises: "RevokeToken.",
    repeat: "never",
    example:
      'There is no API token "8c1e" that you may revoke: ListTokens shows those that there are.',
  },
  KEYS_UNAVAILABLE: {
    arises: "Every call with a JWT.",
    repeat: "delay",
    example:
      "The keys of the identity provider cannot be read, so the JWT of the call cannot be verified: repeat the call later, or use an API token.",
  },
};
