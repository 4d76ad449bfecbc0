/** What steps of an open run do or wait for, in words. */
import type { SubstateRuns } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunSubstate, type RunSubstateCount } from "@drover/proto/drover/v1/run_pb.ts";
import { counted } from "./words.ts";

const words: Readonly<Record<RunSubstate, string>> = {
  [RunSubstate.UNSPECIFIED]: "",
  [RunSubstate.WORKING]: "working",
  [RunSubstate.WAITING_FOR_AGENT]: "waiting for an agent",
  [RunSubstate.RETRYING]: "retrying",
  [RunSubstate.WAITING_FOR_SIGNAL]: "waiting for a signal",
  [RunSubstate.WAITING_FOR_APPROVAL]: "waiting for approval",
  [RunSubstate.WAITING_FOR_CALLBACK]: "waiting for a callback",
  [RunSubstate.WAITING_FOR_TIMER]: "waiting for a timer",
  [RunSubstate.WAITING_FOR_CHILD]: "waiting for a child run",
  [RunSubstate.HELD]: "held",
};

/**
 * `working, waiting for an agent and a signal, retrying (3 steps)`; empty: the run has ended, or
 * only waits for a person.
 */
export function substateWords(of: readonly RunSubstateCount[]): string {
  const texts = of.map(({ substate, steps }) => {
    const number = steps > 1 ? ` (${counted(steps, "step")})` : "";
    return `${words[substate] ?? ""}${number}`;
  });
  const waits = texts.filter((text) => text.startsWith(WAITING));
  const [first = "", ...others] = waits.map((text) => text.slice(WAITING.length));
  const last = others.pop();
  const all = [first, ...others].join(", ") + (last === undefined ? "" : ` and ${last}`);
  const waiting = first === "" ? [] : [`${WAITING}${all}`];
  return [...texts.filter((text) => !text.startsWith(WAITING)), ...waiting].join(", ");
}

const WAITING = "waiting for ";

/** `30 working, 10 waiting for an agent`; a run may be counted for more than one. */
export function substateRunsWords(of: readonly SubstateRuns[]): string {
  return of
    .map(({ substate, runs, moreRuns }) => {
      return `${runs}${moreRuns ? "+" : ""} ${words[substate] ?? ""}`;
    })
    .join(", ");
}
