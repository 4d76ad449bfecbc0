/** The definition of a step in a few words, for its node. */
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { type Step, StepKind } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ApprovalStep,
  CompensateWhen,
  Effects,
  type Fallback,
  type MapStep,
  OnFailure,
  OnPickup,
  RunIf,
  type RunStep,
  type StepDefinition,
  type Waves,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { counted, durationWords } from "../words.ts";

/** The kind of a step; each has its own shape. */
export type NodeKind = "task" | "wait" | "signal" | "approval" | "run" | "map" | "unknown";

export interface StepWords {
  readonly kind: NodeKind;
  /** `task book-flight`, `waits 1h30m`, `run of refund v2` */
  readonly does: string;
}

/** `queue travel`, `verify find-flight`, `pivot no compensation after it` */
export interface Mark {
  readonly label: string;
  readonly text: string;
}

export function wordsOf({ kind: { case: kind, value } }: StepDefinition): StepWords {
  switch (kind) {
    case "task":
      return { kind, does: `task ${value.name}` };
    case "wait":
      return {
        kind,
        does:
          value.over.case === "for"
            ? `waits ${time(value.over.value)}`
            : `waits until ${bare(value.over.value ?? "a time")}`,
      };
    case "signal":
      return { kind, does: `waits for signal ${value.name}` };
    case "approval":
      return { kind, does: approvalWords(value) };
    case "run":
      return { kind, does: `run of ${runStepWords(value)}` };
    case "map":
      return { kind, does: `task ${value.task} for each` };
    default:
      return { kind: "unknown", does: "of a kind that only a newer drover knows" };
  }
}

const kindOfStep: Readonly<Partial<Record<StepKind, NodeKind>>> = {
  [StepKind.TASK]: "task",
  [StepKind.WAIT]: "wait",
  [StepKind.SIGNAL]: "signal",
  [StepKind.APPROVAL]: "approval",
  [StepKind.RUN]: "run",
  [StepKind.MAP]: "map",
};

/** For a step of a run, which has less data than its definition. */
export function wordsOfRunStep({ kind, task, signalName }: Step): StepWords {
  const of = kindOfStep[kind] ?? "unknown";
  const plain: Readonly<Record<NodeKind, string>> = {
    task: `task ${task}`,
    wait: "waits",
    signal: `waits for signal ${signalName}`,
    approval: "waits for approval",
    run: "run of a workflow",
    map: "a task for each",
    unknown: "of a kind that only a newer drover knows",
  };
  return { kind: of, does: plain[of] };
}

function approvalWords({ need, approvers }: ApprovalStep): string {
  const from = approvers.length > 0 ? ` of ${approvers.join(", ")}` : "";
  return `${counted(need ?? 1, "approval")}${from}`;
}

function runStepWords({ workflow, version }: RunStep): string {
  return version > 0 ? `${workflow} v${version}` : workflow;
}

function time(duration: Duration | undefined): string {
  const words = duration ? durationWords(durationMs(duration)) : "";
  return words.replace(/\.0s$/, "s").replace(/([dhm])00[hms]$/, "$1");
}

/** An expression may be written bare or inside `${...}`. */
function bare(expression: string): string {
  return /^\$\{((?:(?!\$\{)[\s\S])*)\}$/.exec(expression.trim())?.[1] ?? expression;
}

/** In the order of a reader's questions: what the step takes, how it is tried, what follows. */
export function marksOf(step: StepDefinition): readonly Mark[] {
  const { kind, when, runIf, effects, verify, fallback, pivot, always, onFailure } = step;
  const marks: readonly (readonly [label: string, text: string])[] = [
    ["when", bare(when)],
    ["if", runIfWords[runIf] ?? ""],
    ...(kind.case === "map" ? mapMarks(kind.value) : []),
    ["queue", kind.case === "task" || kind.case === "map" ? kind.value.queue : ""],
    ["within", kind.case === "signal" || kind.case === "approval" ? time(kind.value.within) : ""],
    ["once", effects === Effects.ONCE ? "escalates instead of repeating" : ""],
    ["verify", verify ? at(verify.task, verify.queue) : ""],
    ...fallback.map((one, no) => [`else ${no + 1}`, fallbackWords(one)] as const),
    ["not picked up", pickupWords[step.onPickup] ?? ""],
    ["fails", failureWords[onFailure] ?? ""],
    ["pivot", pivot ? "no compensation after it" : ""],
    ["always", always ? "last, in any case" : ""],
  ];
  return marks.filter(([, text]) => text !== "").map(([label, text]) => ({ label, text }));
}

const runIfWords: Readonly<Partial<Record<RunIf, string>>> = {
  [RunIf.ALL_OK]: "all needs succeeded",
  [RunIf.ANY_OK]: "any need succeeded",
};

const pickupWords: Readonly<Partial<Record<OnPickup, string>>> = {
  [OnPickup.ESCALATE]: "escalates",
  [OnPickup.FALLBACK]: "uses the fallback",
};

const failureWords: Readonly<Partial<Record<OnFailure, string>>> = {
  [OnFailure.COMPENSATE]: "compensates the run",
  [OnFailure.FAIL]: "fails the run, effects remain",
  [OnFailure.CONTINUE]: "the run continues",
  [OnFailure.ESCALATE]: "escalates",
};

function mapMarks({ over, concurrency, tolerated, waves }: MapStep) {
  const amount = tolerated.case === "toleratePercent" ? `${tolerated.value} %` : tolerated.value;
  return [
    ["each of", bare(over)],
    ["at a time", concurrency === undefined ? "" : String(concurrency)],
    ["may fail", amount === undefined ? "" : String(amount)],
    ["waves of", waves ? waveWords(waves) : ""],
    ["gate", waves?.gate ? at(waves.gate.task, waves.gate.queue) : ""],
  ] as const;
}

function waveWords({ amount, pause }: Waves): string {
  const size = amount.case === "percent" ? `${amount.value} %` : String(amount.value ?? "");
  return pause ? `${size}, ${time(pause)} between` : size;
}

function fallbackWords({ task, queue, input, run }: Fallback): string {
  const parts = [
    task === "" ? "" : `task ${task}`,
    queue === "" ? "" : `queue ${queue}`,
    run ? `run of ${runStepWords(run)}` : "",
    input ? "other input" : "",
  ];
  return parts.filter((text) => text !== "").join(", ");
}

function at(task: string, queue: string): string {
  return queue === "" ? task : `${task}, queue ${queue}`;
}

/** `undo cancel-flight`; empty: the step has no compensation. */
export function undoOf({ compensate }: StepDefinition): string {
  if (!compensate) return "";
  const halfWay = compensate.when === CompensateWhen.ATTEMPTED ? ", also if only attempted" : "";
  return `undo ${at(compensate.task, compensate.queue)}${halfWay}`;
}
