// The known races by number, each with what tests it: a scenario of this folder, another test (on
// real PostgreSQL, if locks or snapshots matter), or the feature that must exist first. The test
// races.test.ts checks that all of them exist.

import { LATER } from "./races-later.ts";

export interface Race {
  /** The failure that happens if the engine does not prevent it. */
  readonly trap: string;
  /** How many scenarios of this folder begin with its number. */
  readonly scenarios?: number;
  /** Titles of other tests, by file below test/. */
  readonly tests?: Readonly<Record<string, readonly string[]>>;
  /** Features that do not exist yet, and that bring the rest of the race with them. */
  readonly waitsFor?: readonly string[];
}

export const RACES: Readonly<Record<number, Race>> = {
  ...LATER,
  1: {
    trap: "Heartbeats, cancels and details seen by one server alone",
    scenarios: 3,
    tests: {
      "integration/control-plane/heartbeats.test.ts": [
        "through one server keeps the lease that another one watches",
        "learns at one server of a cancel that was asked for at another",
      ],
    },
  },
  2: {
    trap: "Running work given back because a heartbeat did not list it",
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
        "leaves no lease behind that no agent holds, whenever it ends",
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
        "do not deadlock: each batch reserves in key order",
      ],
    },
  },
  5: {
    trap: "Rows left of a low-water mark that no claim sees again",
    scenarios: 1,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "costs no more when the row came from nowhere, behind every server's back",
      ],
      "integration/control-plane/marks.test.ts": [
        "finds the row of a transaction that began before others and commits after them",
        "finds the row that another claim had locked when the mark was moved, and gave up",
      ],
    },
  },
  6: {
    trap: "Undoing or retrying while a lost attempt may still act",
    scenarios: 2,
    tests: {
      "unit/core/compensation.test.ts": [
        "an attempt that was lost before the stop has settled too",
      ],
    },
  },
  7: {
    trap: "The report of an attempt whose lease has ended",
    scenarios: 4,
    tests: {
      "integration/control-plane/late-reports.test.ts": [
        "settles its step while no other task of it was handed out, on any server",
        "changes nothing once another task was handed out, and is stored as evidence",
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
        "when it has started a child leaves it to the owner of the child's partition",
        "when a child has ended leaves what follows to the owner of the parent's partition",
      ],
      "integration/control-plane/schedules.test.ts": [
        "beside the same occurrences leaves each with one run",
      ],
    },
  },
  12: {
    trap: "Loads that grow with the run, and one hot run that stops a server",
    tests: {
      "integration/control-plane/locks.test.ts": [
        "delays only its own reports; the rest of the batch is committed",
        "is waited for by a batch of its own after three misses, and others are flushed beside it",
      ],
      "integration/control-plane/cost.test.ts": [
        "costs a batch of runs hardly more commits than one run",
      ],
      "integration/control-plane/map.test.ts": [
        "of ten thousand items ends, having loaded as many pages for each as one of ten",
      ],
    },
  },
  13: {
    trap: "Timers without a row, or rows without a timer",
    scenarios: 2,
    tests: {
      "integration/control-plane/cost.test.ts": [
        "writes the page of its run once for each thing that happens, and a row of each task",
      ],
      "unit/timers.test.ts": ["scans again at once when a timer was added during a scan"],
    },
  },
  14: {
    trap: "A backlog that becomes escalations",
    scenarios: 3,
    tests: {
      "contract/due.ts": ["a ready row knows whether its lane is polled"],
      "contract/queues.ts": ["what waits in a paused queue is held: no agent is reported missing"],
      "integration/control-plane/pickup-questions.test.ts": [
        "is asked about once, though many of its tasks are due in one batch",
        "is asked about once, though two servers find its tasks at the same time",
      ],
    },
  },
  15: {
    trap: "An outage or a clock that jumps loses every lease",
    scenarios: 6,
    tests: {
      "integration/control-plane/outage.test.ts": [
        "costs no lease: an agent that sends heartbeats afterwards carries on, a silent one is found",
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
    tests: {
      "contract/namespaces.ts": [
        "an open run stays, however old, and so does one of another namespace",
        "a run that is still needed stays: by a person, its parent, a trigger, a hook",
        "a run whose time is over goes with all that is of it, and its key stays",
      ],
      "integration/control-plane/retention.test.ts": [
        "stays while a late report of it is under way, which is stored, and goes afterwards",
        "while it goes makes a late report wait, which then finds nothing and leaves nothing",
        "stays whole while the pass that ends it is under way, and its report is accepted",
      ],
    },
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
        "waits for the batch that the former owner has in flight, which commits",
        "fences every later batch of the former owner: it changes nothing and gets an error",
        "leaves no gap: a batch that waits for a run when it begins commits before it, never after",
      ],
      "integration/take-over/take-over.test.ts": [
        "a frozen server is relieved, and does nothing more under its old name when it wakes",
      ],
      "integration/take-over/fencing-order.test.ts": [
        "of two take-overs at once the second fences the first",
        "a hand-back waits for a batch that may still commit",
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
};
