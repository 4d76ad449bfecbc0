// The rules by which supervisors act: what each of them detects.
import type { Tone } from "../parts/badge.tsx";

/** As `drover intervention list --rule` takes them: failures first, plain timers last. */
export const ruleMeanings: Readonly<Record<string, string>> = {
  lease: "an agent stopped sending heartbeats",
  forgotten: "an agent forgot a task",
  delivery: "a task did not reach its agent",
  attempt: "an attempt ran out of time",
  stall: "an attempt made no progress",
  slow: "an attempt takes unusually long",
  pickup: "no agent polled for a task",
  "queue-circuit": "a task failed for all agents",
  "agent-circuit": "one agent failed where others do not",
  "late-effect": "a success was reported too late",
  integrity: "derived rows differed from the state",
  failing: "the handling of a run fails again and again",
  total: "a step has used up its time",
  deadline: "a run has used up its time",
  backoff: "a retry was due",
  settle: "the settle time of a lost attempt is over",
  callback: "a callback did not arrive",
  signal: "a signal did not arrive",
  approval: "an approval did not arrive",
  timer: "a wait is over",
  start: "a start time was reached",
};

const plain = new Set(["backoff", "settle", "timer", "start"]);
const hints = new Set(["slow", "delivery", "signal", "approval", "callback"]);

/** A rule of a newer server is shown by its name. */
export function ruleWords(rule: string): string {
  return ruleMeanings[rule] ?? rule;
}

export function ruleTone(rule: string): Tone {
  if (plain.has(rule)) return "idle";
  return hints.has(rule) ? "waiting" : "warning";
}
