// What `npm run model` checks: each model as it is, which must hold, and its twins. A twin is the
// same model with one rule left out by a macro, and must fail, or the property that it breaks
// proves nothing. docs/MODEL.md has all of them in prose.

export interface Check {
  /** The file, without `.pml`. */
  readonly model: string;
  /** The rule that the twin leaves out, as a sentence; null: the model itself. */
  readonly without: string | null;
  /** What is checked. */
  readonly of: string;
  /** Macros, as `-D` takes them. */
  readonly defines: readonly string[];
  /** The formula that must hold on every fair path; null: assertions and deadlocks. */
  readonly formula: string | null;
}

function model(
  name: string,
  of: string,
  defines: readonly string[],
  formula: string | null = null,
): Check {
  return { model: name, without: null, of, defines, formula };
}

function twin(
  name: string,
  without: string,
  defines: readonly string[],
  formula: string | null = null,
): Check {
  return { model: name, without, of: "the twin fails", defines, formula };
}

/** A fail-over in the middle; without hand-backs, to stay small. */
const TAIL = ["TAIL", "FAULTS=0", "HAND_BACKS=0"];
/** Two in flight at a time are many more states, and one finds all that liveness asks for. */
const HEARTBEAT = "HEARTBEATS=1";
const TOKENS = "CHECK=1";
const ACKS = "CHECK=2";
const ONCE = "CHECK=4";

export const checks: readonly Check[] = Object.freeze([
  model("partition", "no write of a former owner commits", []),
  model("partition", "the partition is watched again", [], "watched"),
  model("partition", "nor across a lost tail", TAIL),
  model("partition", "watched again after a lost tail", TAIL, "watched"),
  twin("partition", "a batch reads the lease row and locks no writer row", ["PLAIN_EPOCH"]),
  twin("partition", "a batch asks its writer row alone, across a lost tail", [
    "WRITER_ALONE",
    ...TAIL,
  ]),
  twin("partition", "a take-over bumps the epoch before it deletes writer rows", ["BUMP_FIRST"]),
  twin("partition", "a take-over reads the former owner unlocked", ["LEASE_UNLOCKED"]),
  twin("partition", "a hand-back waits for answers, not for batches", ["HAND_BACK_BLIND"]),
  twin("partition", "a hand-back does not wait for what was sent", ["NOT_QUIET"]),
  twin("partition", "a fenced process continues under its id", ["KEEP_ID"], "watched"),

  model("session", "a process that trusts its lock has it", []),
  model("session", "the lock of a lost process becomes free", [], "freed"),
  twin("session", "trust counts from when the answer came", ["TRUST_FROM_ANSWER"]),
  twin("session", "the server ends no idle session", ["NO_IDLE_TIMEOUT"], "freed"),

  model("delivery", "what is given back or called forgotten is with no agent", []),
  model("delivery", "a lease that no agent knows of ends", [HEARTBEAT], "found"),
  model(
    "delivery",
    "by its time, where the agent states nothing",
    [HEARTBEAT, "SILENT", "ATTEMPT"],
    "found",
  ),
  twin("delivery", "what is given back is not known by its fence", ["ANY_FENCE"]),
  twin("delivery", "a heartbeat forgets what it leaves out, whichever poll brought it", [
    HEARTBEAT,
    "OMITS",
  ]),
  twin("delivery", "a list of all counts for lost polls too", [HEARTBEAT, "COUNTS_LOST"]),
  twin("delivery", "a task is listed until its report is sent", [HEARTBEAT, "LISTED_UNTIL_SENT"]),
  twin("delivery", "a lost poll is not named", [HEARTBEAT, "NAMES_NOTHING"]),
  twin("delivery", "a lost poll is not named for long enough", [HEARTBEAT, "NAMED_ONCE"]),
  twin("delivery", "a server gives back what it has sent", [HEARTBEAT, "CANCEL_LATE"]),
  twin("delivery", "a lease counts from when the answer came", [HEARTBEAT, "FROM_ARRIVAL"]),
  twin("delivery", "no heartbeat lists all tasks", [HEARTBEAT, "LISTS_NOTHING"], "found"),
  twin(
    "delivery",
    "the agent states nothing, and no attempt has a time",
    [HEARTBEAT, "SILENT"],
    "found",
  ),

  model("failover", "synchronous: nothing acknowledged is lost, once is once", []),
  model("failover", "synchronous: every run ends or asks", [], "ends"),
  model("failover", "asynchronous: a report settles its own hand-out", ["ASYNC", TOKENS]),
  model("failover", "asynchronous: every run ends or asks", ["ASYNC", TOKENS], "ends"),
  twin("failover", "asynchronous replication retains what was acknowledged", ["ASYNC", ACKS]),
  twin("failover", "asynchronous replication retains `once`", ["ASYNC", ONCE]),
  twin("failover", "a report is known by its fence alone", ["ASYNC", TOKENS, "FENCE_ONLY"]),
  twin("failover", "a COMMIT is asked about by its id alone", ["XID_ALONE", ACKS]),

  model("saga", "undone wholly, in order, after all has settled; final is final", []),
  model("saga", "every run ends or asks", [], "ends"),
  twin("saga", "undoing begins before lost attempts have settled", ["NO_SETTLE"]),
  twin("saga", "a verify begins before the lost attempt has settled", ["VERIFY_AT_ONCE"]),
  twin("saga", "a `once` step is retried on an unknown", ["ONCE_RETRIED"]),
  twin("saga", "what finished is undone, what is unsettled is not", ["FINISHED_ONLY"]),
  twin("saga", "all is undone side by side", ["ANY_ORDER"]),
  twin("saga", "a late report counts whatever its fence", ["LATE_COUNTS"]),
  twin("saga", "a late report reopens what is final", ["FINAL_REOPENED"]),
  twin("saga", "no server watches leases", ["UNWATCHED"], "ends"),
]);
