// The races from 23 on: see races.ts.
import type { Race } from "./races.ts";

export const LATER: Readonly<Record<number, Race>> = {
  23: {
    trap: "A commit whose outcome is unknown",
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
        "holds when two servers schedule at the same time: the second waits for the first",
        "of 3 holds for 40 runs of two servers, and each of them gets its turn",
        "is reserved for the run that got it when the server dies before it could publish it",
      ],
      "integration/control-plane/queue-limits.test.ts": [
        "gives the last one once: the second claim waits for the first, and counts it",
        "keeps no other queue from an agent that polls both",
        "is found within a poll tick by an agent that waits on another server",
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
        "is reserved for another session, and for anyone after 2 s",
      ],
      "integration/control-plane/fair-turns.test.ts": [
        "and many agents: each claim is small, and the other namespace's task is in the first",
      ],
      "integration/control-plane/pins.test.ts": [
        "gives what is ready, and what becomes so, to agents of its version alone",
        "is known within a second to polls that wait on another server, of one task or of any",
        "is moved if a report makes it ready without knowing of the pin",
        "is moved back if a report puts it where the pin was, which is taken back",
        "is waited for if it makes a lane that the class of the pin is to have too",
      ],
    },
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
    trap: "Watchers that no notification can wake",
    scenarios: 1,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "of a run's change costs the watcher a poll tick",
      ],
    },
  },
  30: {
    trap: "A safety net that backs off",
    scenarios: 4,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "costs a poll tick and never a task: another server's row is found by the next one",
        "is compensated by the poll tick that runs by itself, within a second",
      ],
      "integration/control-plane/cost.test.ts": [
        "asks one statement a poll tick for all its parked polls",
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
      "unit/core/map.test.ts": ["continues to the steps before it only when its items are undone"],
      "integration/control-plane/map.test.ts": ["undoes the items that were touched, and no other"],
      "e2e/child-runs.test.ts": [
        "are cancelled together: what was done is undone from below, and none outlives it",
      ],
    },
  },
  34: {
    trap: "Occurrences of schedules that come twice or never",
    tests: {
      "integration/control-plane/schedules.test.ts": [
        "fires once when a take-over comes in the middle: it waits for the batch",
        "fires once though another server believes that it owns it: that one's write changes nothing",
        "fires after a restart if the server died before its commit, and once",
      ],
      "integration/take-over/schedules.test.ts": [
        "every occurrence begins one run through SIGKILL of its owner, and none is left out",
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
    trap: "One bad call that fails a whole batch",
    scenarios: 2,
    tests: {
      "integration/control-plane/locks.test.ts": [
        "commits the others; the bad one fails alone and changed nothing",
      ],
      "unit/batcher.test.ts": ["is split until the bad items fail alone, whichever they are"],
    },
    waitsFor: ["the rate budget of a caller"],
  },
  38: {
    trap: "Sweeps without a bound",
    tests: {
      "unit/consistency.test.ts": [
        "scans a thousand runs at a time, and continues behind the last one",
        "begins a round thirty scans after the last one at the earliest",
      ],
    },
  },
  39: {
    trap: "Circuits that two servers see differently",
    tests: {
      "integration/control-plane/circuits.test.ts": [
        "opens when two agents on two servers fail in two runs, and nothing is handed out",
        "keeps an open circuit, its cool-down and its probe",
        "is opened and closed by hand, here at once and there within a second",
      ],
    },
  },
  40: {
    trap: "A waiter that is served twice, or sleeps beside its task",
    scenarios: 2,
    tests: {
      "integration/control-plane/waking.test.ts": [
        "is queried again when the batch has nothing for it",
      ],
    },
  },
  41: {
    trap: "Keys that are unique within a range alone",
    tests: {
      "contract/history.ts": [
        "repeated alarms about one ready row are distinguished by their number",
      ],
      "contract/namespaces.ts": [
        "a run whose time is over goes with all that is of it, and its key stays",
      ],
    },
  },
  42: {
    trap: "Tables that the text needs and no migration made",
    tests: {
      "integration/control-plane/concurrency.test.ts": [
        "stores nothing, not even the key of the call, and reports who holds the slot",
      ],
      "contract/schedules.ts": [
        "occurrences of a deleted schedule are forgotten in small batches, and it after them",
      ],
    },
  },
  43: {
    trap: "A stop that takes leases along",
    scenarios: 3,
    tests: {
      "integration/api/drain.test.ts": [
        "answers parked polls with an empty OK on both transports, then ends",
        "waits for calls in flight, refuses new ones, and reports NOT_SERVING meanwhile",
      ],
      "integration/take-over/take-over.test.ts": [
        "a server that stops cleanly hands its partitions over without being fenced",
      ],
    },
  },
  44: {
    trap: "Inline definitions that are never removed",
    waitsFor: ["retention of definitions"],
  },
  45: {
    trap: "Batches that bound what a slow store takes",
    scenarios: 1,
    waitsFor: ["batches that grow beyond 500, tried with a slow disk"],
  },
};
