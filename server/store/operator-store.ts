// The half of the state store that serves people alone: lists, counts, agents, API tokens, lines
// that handlers log, and the inbox that users fill by SQL. No decision of the engine reads it. Only
// PostgreSQL implements it; test/contract/operator tests that.

import type { HandlerLogs } from "./handler-logs.ts";
import type { InboxRows } from "./inbox.ts";
import type { Lists } from "./lists.ts";
import type { Operators } from "./operators.ts";
import type { Tokens } from "./tokens.ts";

export interface OperatorStore {
  readonly lists: Lists;
  readonly operators: Operators;
  readonly tokens: Tokens;
  readonly inbox: InboxRows;
  readonly logs: HandlerLogs;
}
