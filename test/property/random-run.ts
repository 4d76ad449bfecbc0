/** Random workflows, as data that fast-check can shrink, and what their expressions evaluate to. */
import fc from "fast-check";
import type {
  CompensateDefinition,
  Definition,
  GateDefinition,
  MapWork,
  RetryPolicy,
  StepDefinition,
  StepRules,
  StepWork,
} from "../../server/core/definition/definition.ts";
import type { Evaluator } from "../../server/core/model/evaluator.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import { itemOf, numberOf } from "../../server/core/model/step-key.ts";
import { plainEvaluator } from "../support/plain-evaluator.ts";

export const STEPS_MAX = 12;

const policies: fc.Arbitrary<readonly Partial<RetryPolicy>[]> = fc.constantFrom(
  [{ attempts: 1 }],
  [{ attempts: 2, initialMs: 500 }],
  [{ on: ["busy"], attempts: 3, initialMs: 100 }, { attempts: 2 }],
  [
    { on: ["busy"], attempts: 3 },
    { on: ["drover.timeout", "drover.unknown"], attempts: 4 },
  ],
  [{ attempts: 6, maxMs: 3_000 }],
  [],
);

const timeouts = fc.constantFrom(
  {},
  { heartbeatMs: 2_000, attemptMs: 5_000 },
  { heartbeatMs: 4_000, attemptMs: 3_000, totalMs: 8_000, pickupMs: 1_000 },
  { totalMs: 400, pickupMs: 1_000 },
  { stallMs: 1_500, callbackMs: 3_000, settleMs: 60_000 },
);

const compensate: fc.Arbitrary<CompensateDefinition> = fc.record(
  {
    task: fc.constant("undo"),
    retry: policies,
    timeouts,
    when: fc.constantFrom("finished" as const, "attempted" as const),
  },
  { requiredKeys: ["task"] },
);

/** An output that breaks the schema of every step that has one. */
export const ODD = '"odd"';
const outputSchema: Payload = { kind: "json", json: '{"type":"object"}' };
/** An input that cannot be made. */
const unmade: Payload = { kind: "json", json: '{"chain":"input.none"}' };

const GATE: GateDefinition = { task: "gate", retry: [{ attempts: 2, initialMs: 100 }] };

const works: fc.Arbitrary<StepWork> = fc.oneof(
  { weight: 9, arbitrary: fc.constant({ task: "work" }) },
  { weight: 1, arbitrary: fc.constant({ kind: "wait" as const, forMs: 1_000 }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("signal" as const),
      name: fc.constantFrom("go", "stop"),
      withinMs: fc.constant(5_000),
      onExpiry: fc.constantFrom("escalate" as const, "fail" as const, "skip" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("approval" as const),
      approvers: fc.constant([]),
      need: fc.constantFrom(1, 2),
      withinMs: fc.constant(5_000),
      onExpiry: fc.constantFrom("escalate" as const, "reject" as const, "approve" as const),
    }),
  },
  { weight: 4, arbitrary: fc.constantFrom(...randomMaps()) },
  { weight: 2, arbitrary: fc.constant({ kind: "run" as const, workflow: "other" }) },
);

/** The rules of a `run` step that differ from a task's. */
const childRules: fc.Arbitrary<Partial<StepRules>> = fc.record(
  {
    onFailure: fc.constantFrom("escalate" as const, "escalate" as const, "compensate" as const),
    retry: fc.constantFrom(
      [{ on: ["drover.child-failed"], attempts: 3, initialMs: 100 }],
      [{ on: ["drover.child-failed", "drover.child-cancelled"], attempts: 2 }],
    ),
    timeouts: fc.constantFrom({ totalMs: 8_000 }, { totalMs: 400 }),
    compensate: fc.constant({ task: "undo", when: "attempted" as const }),
    fallback: fc.constantFrom([{ workflow: "third" }], [{ input: unmade }, { workflow: "third" }]),
  },
  { requiredKeys: [] },
);

/** Over a few items, in one go or in waves, with all that may lie between two of them. */
function randomMaps(): readonly MapWork[] {
  const map = { kind: "map", task: "work", over: "3" } as const;
  return [
    map,
    { ...map, over: "0" },
    { ...map, over: "broken" },
    { ...map, over: "5", concurrency: 2, tolerate: 1 },
    { ...map, concurrency: 1, toleratePercent: 40 },
    { ...map, waves: { size: 2 } },
    { ...map, over: "4", concurrency: 2, waves: { percent: 40, pauseMs: 500 }, tolerate: 2 },
    { ...map, waves: { size: 1, gate: GATE } },
    { ...map, over: "2", waves: { size: 1, gate: { task: "gate" } } },
    { ...map, over: "2", concurrency: 1, waves: { size: 1, gate: GATE } },
    { ...map, waves: { size: 2, pauseMs: 700, gate: GATE } },
    { ...map, waves: { size: 1, gate: { ...GATE, input: unmade } } },
  ];
}

/** The `effects` of a task, with the verify that it then needs. */
const effects: fc.Arbitrary<Pick<StepRules, "effects" | "verify">> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.constant({ effects: "once" as const }) },
  {
    weight: 2,
    arbitrary: fc
      .record({ task: fc.constant("find"), retry: policies, timeouts }, { requiredKeys: ["task"] })
      .map((verify) => ({ effects: "verifiable" as const, verify })),
  },
);

const ALWAYS_ALLOWED = new Set(["id", "needs", "retry", "timeouts"]);

function stepAt(no: number): fc.Arbitrary<StepDefinition> {
  const earlier = Array.from({ length: no }, (_, index) => `s${index}`);
  const rules: fc.Arbitrary<StepRules> = fc.record(
    {
      id: fc.constant(`s${no}`),
      needs: fc.subarray(earlier, { maxLength: Math.min(3, no) }),
      retry: policies,
      timeouts,
      compensate,
      fallback: fc.constantFrom(
        [{ queue: "other" }],
        [{ task: "plan-b" }, { queue: "other" }],
        [{ task: "plan-b" }, { queue: "other" }],
        [{ input: unmade }, { queue: "other" }],
      ),
      outputSchema: fc.constant(outputSchema),
      onFailure: fc.constantFrom(
        "compensate" as const,
        "fail" as const,
        "continue" as const,
        "escalate" as const,
      ),
      onPickup: fc.constantFrom("alarm" as const, "escalate" as const, "fallback" as const),
      runIf: fc.constantFrom("ended" as const, "all_ok" as const, "any_ok" as const),
      when: fc.constantFrom("true", "true", "false", "broken"),
      pivot: fc.constantFrom(false, false, true),
    },
    { requiredKeys: ["id", "needs"] },
  );
  return fc.tuple(rules, works, effects, childRules).map(([rule, work, its, child]) => {
    if (work.kind === "run") {
      const { retry: _tries, timeouts: _times, fallback: _ways, onPickup: _, ...others } = rule;
      return { ...others, ...child, ...work };
    }
    if (work.kind !== undefined && work.kind !== "task" && work.kind !== "map") {
      const { compensate: _undo, fallback: _ways, outputSchema: _of, ...others } = rule;
      return { ...others, ...work };
    }
    return { ...rule, ...its, ...work };
  });
}

/** What a run waits for before it begins: some time, a permit, both, or mostly nothing. */
export interface Beginning {
  readonly startInMs: number;
  readonly keyed: boolean;
  readonly waits: boolean;
}

const AT_ONCE: Beginning = Object.freeze({ startInMs: 0, keyed: false, waits: false });

export const beginnings: fc.Arbitrary<Beginning> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(AT_ONCE) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      { ...AT_ONCE, startInMs: 1_500 },
      { ...AT_ONCE, startInMs: 1_500, keyed: true },
      { ...AT_ONCE, keyed: true, waits: true },
    ),
  },
);

/** Some of the steps that nothing needs run always: they keep the keys that it may have. */
function withAlways(definition: Definition, some: number): Definition {
  const needed = new Set(definition.steps.flatMap((step) => step.needs));
  const steps = definition.steps.map((step, no): StepDefinition => {
    if (needed.has(step.id) || no === 0 || (no + some) % 3 !== 0) return step;
    const allowed = Object.fromEntries(
      Object.entries(step).filter(([key]) => ALWAYS_ALLOWED.has(key)),
    );
    const rules = { id: step.id, ...allowed, needs: [], always: true };
    return step.kind === "map"
      ? { ...rules, kind: "map", task: "work", over: "3", concurrency: 2 }
      : { ...rules, task: "work" };
  });
  return { ...definition, steps };
}

/** The evaluator of a random definition: its `when` is the name of its result. */
export function evaluatorOf(definition: Definition): Evaluator {
  return {
    ...plainEvaluator(definition),
    condition: (no) => {
      const condition = definition.steps[no]?.when ?? "true";
      return condition === "broken"
        ? { kind: "failed", message: "it is broken" }
        : { kind: "value", value: condition === "true" };
    },
    input: (stepKey, planned) => {
      const step = definition.steps[numberOf(stepKey)];
      const isGate = step?.kind === "map" && itemOf(stepKey) === 0;
      const input = isGate ? step.waves?.gate?.input : step?.fallback?.[planned - 1]?.input;
      return input === unmade
        ? { kind: "failed", message: "no such key: none" }
        : { kind: "value", value: null };
    },
    outputProblem: (stepKey, output) => {
      const step = definition.steps[numberOf(stepKey)];
      const isGate = step?.kind === "map" && itemOf(stepKey) === 0;
      return !isGate && step?.outputSchema && output?.kind === "json" && output.json === ODD
        ? "it is odd"
        : null;
    },
  };
}

export const definitions: fc.Arbitrary<Definition> = fc
  .tuple(fc.integer({ min: 1, max: STEPS_MAX }), fc.nat({ max: 5 }))
  .chain(([count, some]) =>
    fc
      .record(
        {
          workflow: fc.constant("random"),
          timeoutMs: fc.constantFrom(20_000, 3_600_000),
          steps: fc.tuple(...Array.from({ length: count }, (_, no) => stepAt(no))),
        },
        { requiredKeys: ["workflow", "steps"] },
      )
      .map((definition) => withAlways(definition, some)),
  );
