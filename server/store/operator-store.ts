// The half of the state store that only people look at and administer: lists, counts, the fleet,
// API tokens, and the inbox that users fill by SQL. No decision of the engine reads it. PostgreSQL
// alone keeps it; test/contract/operator holds it to that.

import type { InboxRows } from "./inbox.ts";
import type { Lists } from "./lists.ts";
import type { Operators } from "./operators.ts";
import type { Tokens } from "./tokens.ts";

export interface OperatorStore {
  readonly lists: Lists;
  readonly operators: Operators;
  readonly tokens: Tokens;
  readonly inbox: InboxRows;
}
