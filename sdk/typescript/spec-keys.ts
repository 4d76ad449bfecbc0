/**
 * The keys of a workflow as an object. A key may be spelled as in the text form, `output_schema`;
 * an unknown one is refused, since a setting that is dropped is missed only when it is needed.
 */
import leven from "leven";
import type {
  ApprovalSpec,
  CompensateSpec,
  EscalationSpec,
  FallbackSpec,
  GateSpec,
  MapSpec,
  RetrySpec,
  RunSpec,
  SignalWaitSpec,
  StepKindSpec,
  StepSettings,
  TimeoutsSpec,
  VerifySpec,
  WaitSpec,
  WavesSpec,
  WorkflowSpec,
} from "./workflow.ts";

interface Specs {
  readonly workflow: WorkflowSpec;
  readonly step: StepSettings | StepKindSpec;
  readonly run: RunSpec;
  readonly wait: WaitSpec;
  readonly signal: SignalWaitSpec;
  readonly approval: ApprovalSpec;
  readonly map: MapSpec;
  readonly waves: WavesSpec;
  readonly gate: GateSpec;
  readonly verify: VerifySpec;
  readonly compensate: CompensateSpec;
  readonly fallback: FallbackSpec;
  readonly escalation: EscalationSpec;
  readonly retry: RetrySpec;
  readonly timeouts: TimeoutsSpec;
}

/** Of every member of a union. */
type KeyOf<T> = T extends unknown ? keyof T & string : never;

/** "value": nothing below it has keys of ours. Else what the object, or each of the list, is. */
type Keys<T> = Readonly<Record<KeyOf<T>, "value" | keyof Specs>>;

const value = "value";
const then = value;
const verify = { task: value, queue: value, retry: "retry", timeouts: "timeouts" } as const;

const KEYS: { readonly [Kind in keyof Specs]: Keys<Specs[Kind]> } = Object.freeze({
  workflow: { workflow: value, timeout: value, inputSchema: value, steps: "step" },
  step: {
    id: value,
    needs: value,
    when: value,
    runIf: value,
    always: value,
    pivot: value,
    task: value,
    queue: value,
    wait: "wait",
    signal: "signal",
    approval: "approval",
    map: "map",
    run: "run",
    input: value,
    outputSchema: value,
    effects: value,
    retry: "retry",
    timeouts: "timeouts",
    verify: "verify",
    compensate: "compensate",
    fallback: "fallback",
    onPickup: value,
    onFailure: value,
    escalation: "escalation",
    logs: value,
  },
  run: { workflow: value, version: value },
  wait: { for: value, until: value },
  signal: { name: value, within: value, onExpiry: value },
  approval: {
    approvers: value,
    need: value,
    notRequester: value,
    form: value,
    within: value,
    onExpiry: value,
  },
  map: {
    over: value,
    task: value,
    queue: value,
    concurrency: value,
    tolerate: value,
    toleratePercent: value,
    waves: "waves",
  },
  waves: { size: value, percent: value, pause: value, gate: "gate" },
  gate: { ...verify, input: value },
  verify,
  compensate: { ...verify, when: value },
  fallback: { queue: value, task: value, run: "run", input: value },
  escalation: { remind: value, deadline: value, then },
  retry: {
    on: value,
    attempts: value,
    initial: value,
    factor: value,
    max: value,
    jitter: value,
  },
  timeouts: {
    pickup: value,
    attempt: value,
    heartbeat: value,
    stall: value,
    total: value,
    cancel: value,
    settle: value,
    callback: value,
  },
});

/**
 * The workflow with each key as the types spell it. Throws TypeError that names the place of a key
 * which is unknown, or which is there in both spellings.
 */
export function withKnownKeys(spec: WorkflowSpec): WorkflowSpec {
  return spelled("workflow", "", spec);
}

function spelled<T>(kind: keyof Specs, path: string, spec: T): T {
  if (typeof spec !== "object" || spec === null || spec instanceof Date) return spec;
  const keys = new Map(Object.entries<"value" | keyof Specs>(KEYS[kind]));
  const out = { ...spec };
  for (const [key, given] of Object.entries(spec)) {
    const name = camelCase(key);
    const of = keys.get(name);
    if (of === undefined) throw new TypeError(unknownKey(path, key, [...keys.keys()]));
    if (name !== key && name in spec) throw new TypeError(bothSpellings(path, name, key));
    Reflect.deleteProperty(out, key);
    Reflect.set(
      out,
      name,
      of === value ? given : below(of, path === "" ? key : `${path}.${key}`, given),
    );
  }
  return out;
}

function below(kind: keyof Specs, path: string, given: unknown): unknown {
  return Array.isArray(given)
    ? given.map((one: unknown, place) => spelled(kind, `${path}[${place}]`, one))
    : spelled(kind, path, given);
}

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function unknownKey(path: string, key: string, known: readonly string[]): string {
  const editsTo = (name: string) => leven(name.toLowerCase(), camelCase(key).toLowerCase());
  const [nearest = ""] = known.toSorted((a, b) => editsTo(a) - editsTo(b));
  const isNear = editsTo(nearest) <= Math.max(1, Math.floor(key.length / 3));
  const hint = isNear ? `did you mean "${nearest}"?` : `it may have ${known.join(", ")}.`;
  return `${path || "The workflow"} has the unknown key "${key}": ${hint}`;
}

function bothSpellings(path: string, name: string, key: string): string {
  return `${path || "The workflow"} has "${name}" and "${key}", which are one key: leave one of them.`;
}
