// How a run ended, in one or two sentences for a person: what failed, and what became of the rest.
import {
  type EndKind,
  isEndKind,
  type Reason,
  type RunFailure,
  type RunState,
} from "../model/model.ts";

export interface EndedRun {
  readonly state: RunState["kind"];
  readonly reason: Reason | null;
  readonly failure: RunFailure | null;
  /** Number of failures after which the run continued. */
  readonly warnings: number;
  /** Number of compensated steps. */
  readonly undone: number;
  /** The note of the caller that cancelled the run; null: none. */
  readonly cancelNote: string | null;
}

/** Names of steps, where the steps of the run were read. */
export interface NamedSteps {
  /** Steps that were compensated. */
  readonly compensated: readonly string[];
  /** Steps that have succeeded and whose compensation was not run. */
  readonly left: readonly string[];
}

/** Most steps that a sentence names. */
const NAMED_MAX = 5;

/**
 * Empty: the run is open, or has completed without a warning. `named` null: only counts are known.
 */
export function endSentence(run: EndedRun, named: NamedSteps | null = null): string {
  if (!isEndKind(run.state)) return "";
  if (run.state === "COMPLETED") return warningSentence(run);
  return `${causeSentence(run)} ${restSentence(run.state, run, named)}`;
}

/** `"mail" failed after 3 attempts: smtp-421: too many connections. The run continued.` */
function warningSentence({ warnings, failure }: EndedRun): string {
  if (warnings === 0) return "";
  if (!failure) return `The run continued after ${counted(warnings, "failure")}.`;
  const more = warnings > 1 ? `, as after ${counted(warnings - 1, "other failure")}` : "";
  return `${failureSentence(failure)} The run continued${more}.`;
}

function causeSentence({ reason, failure, cancelNote }: EndedRun): string {
  const note = cancelNote === null || cancelNote === "" ? "." : `: ${sentenceOf(cancelNote)}`;
  switch (reason) {
    case "STEP_FAILED":
      return failure ? failureSentence(failure) : "A step failed.";
    case "TIMED_OUT":
      return "The timeout of the run passed.";
    case "CANCELLED_BY_USER":
      return `The run was cancelled${note}`;
    case "CANCELLED_BY_NEWER":
      return "A newer run of its concurrency key replaced it.";
    case "NEVER_STARTED":
      return `The run ended before it started${note}`;
    case "REFUSED":
      return `The run was refused before it started${note}`;
    default:
      return "The run did not complete.";
  }
}

/** `"hotel" failed after 1 attempt: sold-out: No room is left.` */
function failureSentence({ id, code, message, attempts }: RunFailure): string {
  const after = attempts === 0 ? "" : ` after ${counted(attempts, "attempt")}`;
  const what = [code, message].filter((text) => text !== "").join(": ");
  return `"${id}" failed${after}${what === "" ? "." : `: ${sentenceOf(what)}`}`;
}

function restSentence(end: EndKind, run: EndedRun, named: NamedSteps | null): string {
  if (run.reason === "NEVER_STARTED" || run.reason === "REFUSED") return "None of its steps ran.";
  const compensated = named?.compensated ?? [];
  const done =
    compensated.length > 0
      ? `${listed(compensated)} ${compensated.length === 1 ? "was" : "were"} compensated.`
      : run.undone > 0
        ? `${counted(run.undone, "step")} ${run.undone === 1 ? "was" : "were"} compensated.`
        : end === "COMPENSATED"
          ? "All of its effects were compensated."
          : "Nothing was compensated.";
  const left = named?.left ?? [];
  if (left.length === 0) return done;
  const stays = left.length === 1 ? "was left as it is" : "were left as they are";
  return `${done} ${listed(left)} ${stays}.`;
}

/** `"a", "b" and "c"`; `"a", "b", "c", "d", "e" and 3 more` */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMED_MAX).map((name) => `"${name}"`);
  const more = names.length - shown.length;
  const last = more > 0 ? `${more} more` : shown.pop();
  return shown.length === 0 ? (last ?? "") : `${shown.join(", ")} and ${last}`;
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** The text with one full stop at its end. */
function sentenceOf(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
