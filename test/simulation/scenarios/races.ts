// Every race of the list that the engine was designed against, by its number, and what plays it: a
// scenario of this folder, a test beside it (on real PostgreSQL, where the lock or the snapshot
// matters), or the feature that must come first. races.test.ts holds that all of them are there.

export interface Race {
  /** What goes wrong, where nothing prevents it. */
  readonly trap: string;
  /** How many scenarios of this folder begin with its number. */
  readonly scenarios?: number;
  /** Titles of other tests, by file below test/. */
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  /** Features that do not exist yet, and that bring the rest of the race with them. */
  readonly waitsFor?: readonly string[];
}

export const RACES: Readonly<Record<number, Race>> = {
  1: {
    trap: "Beats, cancels and details seen by one server alone",
    scenarios: 3,
    tests: {
      "integration/control-plane/heartbeats.test.ts": [
        "through one server keeps the lease that another one watches",
        "hears at one server of a cancel that was asked for at another",
      ],
    },
  },
  2: {
    trap: "Running work given back because a beat did not list it",
    scenarios: 9,
    tests: {
      "integration/control-plane/lost-polls.test.ts": [
        "gives its tasks back at once and uncounted, on another server too",
        "stays with the agent: an omission proves nothing",
      ],
    },
  },
  3: {
    trap: "A cancelled poll that gives back what was delivered",
    scenarios: 3,
    tests: {
      "integration/control-plane/lost-polls.test.ts": [
        "gives the task back when it was cancelled before its answer",
        "leaves no lease behind that nobody holds, whenever it ends",
      ],
    },
  },
  4: {
    trap: "Claims and passes that deadlock",
    tests: {
      "integration/control-plane/locks.test.ts": [
        "do not deadlock: the pass waits for the claim and finds the row as a lease",
        "do not deadlock the other way: the claim passes over what the pass has locked",
        "hand over to each other crosswise without a deadlock",
      ],
      "integration/control-plane/keys.test.ts": [
        "do not deadlock: each flight reserves in key order",
      ],
    },
  },
  5: {
    trap: "Rows left of a low-water mark that nobody sees again",
    scenarios: 1,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "costs no more when the row came from nowhere, behind every server's back",
      ],
    },
    waitsFor: ["the low-water mark of claims"],
  },
  6: {
    trap: "Undoing or retrying while a lost attempt may still act",
    scenarios: 2,
    tests: {
      "unit/core/compensation.test.ts": [
        "an attempt that was lost before the verdict has settled too",
      ],
    },
  },
  7: {
    trap: "The report of an attempt whose lease has ended",
    scenarios: 4,
    tests: {
      "integration/control-plane/late-reports.test.ts": [
        "settles its step while no other task of it was handed out, on any server",
        "changes nothing once another task was handed out, and is kept as evidence",
      ],
    },
  },
  8: {
    trap: "One key over two inputs, and effects that undoing forgets",
    scenarios: 4,
  },
  9: {
    trap: "Hedging against the fence",
    waitsFor: ["hedging, whose field is reserved"],
  },
  10: {
    trap: "Partitions of several regions",
    tests: {
      "e2e/variants.test.ts": [
        "a region is watched by its own supervisor alone, and seen to be unwatched without one",
      ],
    },
  },
  11: {
    trap: "A change of one run that touches another",
    scenarios: 2,
    tests: {
      "integration/control-plane/messages.test.ts": [
        "is brought to its run by the owner of the run's partition",
        "is applied once, however many bring it at the same time",
        "waits with its run while that is being changed, and is found by the next pass",
      ],
      "integration/control-plane/child-runs.test.ts": [
        "when it has begun a child leaves it to the owner of the child's partition",
        "when a child has ended leaves what follows to the owner of the parent's partition",
      ],
      "integration/control-plane/schedules.test.ts": [
        "beside a firing of the same moments leaves each with one run",
      ],
    },
  },
  12: {
    trap: "Loads that grow with the run, and one hot run that stops a server",
    tests: {
      "integration/control-plane/locks.test.ts": [
        "delays only its own reports; the rest of the flight lands",
        "is waited for by a flight of its own after three misses, and others fly beside it",
      ],
      "integration/control-plane/cost.test.ts": [
        "costs a batch of runs hardly more commits than one run",
      ],
      "integration/control-plane/map.test.ts": [
        "loads as many step rows for each item of a long list as of a short one",
      ],
    },
  },
  13: {
    trap: "Moments without a row, or rows without a moment",
    scenarios: 2,
    tests: {
      "integration/control-plane/cost.test.ts": [
        "writes a row once for each thing that happens to it, and no due row",
      ],
      "unit/watches.test.ts": ["looks again at once when a moment came while a look was under way"],
    },
  },
  14: {
    trap: "A backlog that becomes escalations",
    scenarios: 3,
    tests: {
      "contract/due.ts": ["a ready row knows whether its lane is polled"],
      "contract/queues.ts": ["what waits in a paused queue is held: nobody is said to be missing"],
      "integration/control-plane/pickup-questions.test.ts": [
        "is asked about once, though many of its tasks are due in one flight",
        "is asked about once, though two servers find its tasks at the same time",
      ],
    },
  },
  15: {
    trap: "An outage or a clock that jumps loses every lease",
    scenarios: 6,
    tests: {
      "integration/control-plane/outage.test.ts": [
        "costs no lease: who beats when it is back carries on, who stays silent is found",
      ],
    },
  },
  16: {
    trap: "States without a deadline, an owner or a name",
    scenarios: 3,
    tests: {
      "unit/core/state-table.test.ts": [
        "leads out of every state that is not final, and out of none that is",
      ],
    },
  },
  17: {
    trap: "Wake-ups that a pause swallows",
    scenarios: 2,
  },
  18: {
    trap: "Retention that drops what open runs need",
    waitsFor: ["retention: ranges by the day of the run's id"],
  },
  19: {
    trap: "A callback that comes before its token",
    scenarios: 2,
  },
  20: {
    trap: "Take-overs that are late, or starve",
    scenarios: 3,
    tests: {
      "integration/control-plane/fencing.test.ts": [
        "waits for the flight that the former owner has in the air, which lands",
        "fences every later flight of the former owner: it changes nothing and is told so",
        "leaves no gap: a flight that waits for a run when it begins lands before it, never after",
      ],
      "integration/take-over/take-over.test.ts": [
        "a frozen server is relieved, and does nothing more under its old name when it wakes",
      ],
      "integration/take-over/fencing-order.test.ts": [
        "of two take-overs at once the second fences the first",
        "a hand-back waits for a flight that may still commit",
      ],
    },
  },
  21: {
    trap: "Numbers of attempts, fences, deliveries and strategies",
    scenarios: 2,
    tests: {
      "integration/control-plane/late-reports.test.ts": [
        "grow by one with each hand-out, through releases, lost polls, losses and retries",
      ],
    },
  },
  22: {
    trap: "A repeated Complete that hands out more",
    scenarios: 2,
    tests: {
      "integration/control-plane/late-reports.test.ts": [
        "is found again after the run has ended, by its attempt row alone",
      ],
    },
  },
  23: {
    trap: "A commit of which nobody knows whether it counted",
    scenarios: 6,
    tests: {
      "integration/control-plane/outage.test.ts": [
        "of a report is found out: counted is %s",
        "of a schedule makes one run: counted is %s",
        "of a claim costs a poll and no task: granted is %s",
      ],
      "integration/postgres/transact.test.ts": [
        "is asked about until it is over, while the server still works on it",
      ],
    },
  },
  24: {
    trap: "A claim that cannot deliver its input",
    scenarios: 2,
  },
  25: {
    trap: "Limits that are counted on live rows",
    scenarios: 2,
    tests: {
      "integration/control-plane/concurrency.test.ts": [
        "holds when two servers schedule at the same moment: the second waits for the first",
        "of 3 holds for 40 runs of two servers, and each of them gets its turn",
        "is kept for who got it when the server dies before it could say so",
      ],
      "integration/control-plane/queue-limits.test.ts": [
        "gives the last one once: the second claim waits for the first, and counts it",
        "keeps no other queue from an agent that polls both",
        "is found within a beat by who waits on another server",
        "gives no more when two servers empty it at the same time",
      ],
    },
  },
  26: {
    trap: "Turns, versions and hand-overs that jump the queue",
    scenarios: 2,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "is served before what becomes ready later, also by a hand-over",
        "of one priority goes by age, also past a hand-over",
        "is kept for another session, and for anyone after 2 s",
      ],
      "integration/control-plane/fair-turns.test.ts": [
        "and many agents: each claim is small, and the other namespace's task is in the first",
      ],
    },
    waitsFor: ["version classes of lanes"],
  },
  27: {
    trap: "Final states that are opened again",
    scenarios: 3,
  },
  28: {
    trap: "Signals that are lost or doubled",
    scenarios: 1,
  },
  29: {
    trap: "Watchers that nobody can wake",
    scenarios: 1,
    tests: {
      "integration/control-plane/waking.test.ts": ["of a run's change costs the watcher a beat"],
    },
  },
  30: {
    trap: "A safety net that backs off",
    scenarios: 4,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "costs a beat and never a task: another server's row is found by the next one",
        "is made good by the beat that runs by itself, within its second",
      ],
      "integration/control-plane/cost.test.ts": [
        "asks one statement a beat for all its parked polls",
      ],
    },
  },
  31: {
    trap: "Two events of one run in one batch",
    scenarios: 6,
    tests: { "property/run.test.ts": ["the random runs take every row of the state table"] },
  },
  32: {
    trap: "One branch with a person while others run",
    scenarios: 2,
  },
  33: {
    trap: "What is undone of cancelled steps, maps and children",
    scenarios: 1,
    tests: {
      "unit/core/map.test.ts": ["goes on to the steps before it only when its items are undone"],
      "integration/control-plane/map.test.ts": ["undoes the items that were touched, and no other"],
      "e2e/child-runs.test.ts": [
        "are cancelled together: what was done is undone from below, and none outlives it",
      ],
    },
  },
  34: {
    trap: "Moments of schedules that come twice or never",
    tests: {
      "integration/control-plane/schedules.test.ts": [
        "fires once when a take-over comes in the middle: it waits for the flight",
        "fires once though two believe that they own it",
        "fires after a restart if the server died before its commit, and once",
      ],
      "integration/take-over/schedules.test.ts": [
        "every moment begins one run through SIGKILL of its owner, and none is left out",
      ],
    },
  },
  35: {
    trap: "What the same request is",
    scenarios: 3,
    tests: {
      "unit/request-digest.test.ts": [
        "does not depend on key, namespace, or the order of labels",
        "never changes, since keys outlive servers",
      ],
      "integration/control-plane/keys.test.ts": ["from two servers at the same time is one run"],
    },
  },
  36: {
    trap: "Claims over many shards",
    waitsFor: ["cells: several primaries behind one address"],
  },
  37: {
    trap: "One bad call that fails a whole flight",
    scenarios: 2,
    tests: {
      "integration/control-plane/locks.test.ts": [
        "lands the others; the bad one fails alone and changed nothing",
      ],
      "unit/flights.test.ts": ["is split until the bad items fail alone, whichever they are"],
    },
    waitsFor: ["the rate budget of a caller"],
  },
  38: {
    trap: "Sweeps without a bound",
    tests: {
      "integration/control-plane/integrity.test.ts": ["goes on when $what"],
    },
  },
  39: {
    trap: "Circuits that two servers see differently",
    tests: {
      "integration/control-plane/circuits.test.ts": [
        "opens when two agents on two servers fail in two runs, and nothing is handed out",
        "keeps an open circuit, its rest and its trial",
        "is opened and closed by hand, here at once and there within a second",
      ],
    },
  },
  40: {
    trap: "A waiter that is served twice, or sleeps beside its task",
    scenarios: 2,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "is looked for again when the flight has nothing for it",
      ],
    },
  },
  41: {
    trap: "Keys that are unique within a range alone",
    tests: {
      "contract/history.ts": ["repeated alarms about one ready row are told apart by their number"],
    },
    waitsFor: ["retention: ranges by the day of the run's id"],
  },
  42: {
    trap: "Tables that the text needs and nobody made",
    tests: {
      "integration/control-plane/concurrency.test.ts": [
        "stores nothing, not even the key of the call, and says who holds the slot",
      ],
      "contract/schedules.ts": [
        "fires of a deleted schedule are forgotten in small batches, and it after them",
      ],
    },
  },
  43: {
    trap: "A stop that takes leases along",
    scenarios: 3,
    tests: {
      "integration/rpc/drain.test.ts": [
        "answers parked polls with an empty OK on both transports, then ends",
        "waits for calls in flight, refuses new ones, and says NOT_SERVING meanwhile",
      ],
      "integration/take-over/take-over.test.ts": [
        "a server that stops cleanly hands its partitions over without being fenced",
      ],
    },
  },
  44: {
    trap: "Inline definitions that nobody removes",
    waitsFor: ["retention of definitions"],
  },
  45: {
    trap: "Flights that bound what a slow store takes",
    scenarios: 1,
    waitsFor: ["batches that grow beyond 500, tried with a slow disk"],
  },
};
