// What the clients ask for: one workflow for each shape. Times are short and tries many, so that a
// run ends soon after the last fault, and every fault meets leases, retries and undos under way.
import type { StepSpec, WorkflowSpec } from "../../sdk/typescript/workflow.ts";

/** All tasks, for every agent; what each does is up to the effects service. */
export const TASKS: readonly string[] = [
  ...["book", "cancel", "find", "sold-out"],
  ...["flaky", "slow", "poison", "hang"],
];

export const SIGNAL = "go";
export const APPROVAL_STEP = "approve";

/** The text of the namespace, from the input of the run. */
const CANARY = { canary: `\${input.canary}` } as const;
const retry = { attempts: 40, initial: "100ms", max: "1s" } as const;
const timeouts = {
  heartbeat: "3s",
  attempt: "15s",
  settle: "1s",
  pickup: "1m",
  total: "5m",
} as const;
const undo = {
  compensate: { task: "cancel", retry, timeouts: { heartbeat: "3s", attempt: "15s", total: "5m" } },
} as const;

const step = (
  id: string,
  task: string,
  needs: readonly string[] = [],
  more: Partial<StepSpec> = {},
): StepSpec => ({ id, task, needs, retry, timeouts, ...more }) as StepSpec;

const chain: WorkflowSpec = {
  workflow: "chain",
  steps: [step("a", "book"), step("b", "book", ["a"]), step("c", "book", ["b"], undo)],
};

export const WORKFLOWS: readonly WorkflowSpec[] = [
  chain,
  {
    workflow: "fan-out",
    steps: [
      step("first", "book", [], undo),
      {
        id: "items",
        needs: ["first"],
        map: { over: 6, task: "book", concurrency: 3 },
        input: CANARY,
        retry,
        timeouts,
        ...undo,
      },
      step("last", "book", ["items"]),
    ],
  },
  {
    workflow: "saga",
    steps: [
      step("a", "book", [], undo),
      step("b", "book", ["a"], undo),
      step("c", "slow", ["a"], undo),
      step("d", "sold-out", ["b", "c"], undo),
    ],
  },
  { workflow: "retries", steps: [step("a", "flaky", [], undo), step("b", "flaky", ["a"])] },
  {
    workflow: "verified",
    steps: ["a", "b"].map((id, index) =>
      step(id, "book", index === 0 ? [] : ["a"], {
        effects: "verifiable",
        verify: { task: "find", retry, timeouts: { heartbeat: "3s", attempt: "10s" } },
        ...undo,
      }),
    ),
  },
  {
    workflow: "signalled",
    steps: [
      step("a", "book", [], undo),
      { id: "wait", needs: ["a"], signal: { name: SIGNAL, within: "1m", onExpiry: "fail" } },
      step("b", "book", ["wait"]),
    ],
  },
  {
    workflow: "approved",
    steps: [
      step("a", "book", [], undo),
      { id: APPROVAL_STEP, needs: ["a"], approval: { within: "1m", onExpiry: "reject" } },
      step("b", "book", [APPROVAL_STEP]),
    ],
  },
  {
    workflow: "parent",
    steps: [
      step("a", "book", [], undo),
      { id: "child", needs: ["a"], run: "chain", input: CANARY },
      step("b", "book", ["child"]),
    ],
  },
  {
    workflow: "slow",
    steps: [step("a", "slow", [], undo), step("b", "slow", ["a"], undo), step("c", "book", ["b"])],
  },
  { workflow: "poisoned", steps: [step("a", "book", [], undo), step("b", "poison", ["a"], undo)] },
  {
    workflow: "hanging",
    steps: [step("a", "hang", [], { timeouts: { ...timeouts, attempt: "4s", cancel: "1s" } })],
  },
];

/** Shapes by how often they are started. */
export const MIX: readonly string[] = [
  ...["chain", "chain", "chain", "fan-out", "fan-out", "saga", "saga", "retries", "retries"],
  ...["verified", "verified", "signalled", "approved", "parent", "slow", "slow"],
];
/** They take an agent or a lease each: some are enough. */
export const RARE: readonly string[] = ["poisoned", "hanging"];
