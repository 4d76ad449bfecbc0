// What steps of an open run do or wait for, in words.
import { RunSubstate, type RunSubstateCount } from "@drover/proto/drover/v1/run_pb.ts";
import { counted } from "./counts.ts";

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

export const substates: readonly RunSubstate[] = [
  RunSubstate.WORKING,
  RunSubstate.WAITING_FOR_AGENT,
  RunSubstate.RETRYING,
  RunSubstate.WAITING_FOR_SIGNAL,
  RunSubstate.WAITING_FOR_APPROVAL,
  RunSubstate.WAITING_FOR_CALLBACK,
  RunSubstate.WAITING_FOR_TIMER,
  RunSubstate.WAITING_FOR_CHILD,
  RunSubstate.HELD,
];

/** Empty for a substate of a newer server. */
export function substateWord(substate: RunSubstate): string {
  return words[substate] ?? "";
}

/**
 * `working, waiting for an agent and a signal, retrying (3 steps)`; empty: the run has ended, or
 * only waits for a person.
 */
export function substateWords(of: readonly RunSubstateCount[]): string {
  const texts = of.map(({ substate, steps }) => {
    const number = steps > 1 ? ` (${counted(steps, "step")})` : "";
    return `${substateWord(substate)}${number}`;
  });
  const waits = texts.filter((text) => text.startsWith(WAITING));
  const [first = "", ...others] = waits.map((text) => text.slice(WAITING.length));
  const last = others.pop();
  const all = [first, ...others].join(", ") + (last === undefined ? "" : ` and ${last}`);
  const waiting = first === "" ? [] : [`${WAITING}${all}`];
  return [...texts.filter((text) => !text.startsWith(WAITING)), ...waiting].join(", ");
}

const WAITING = "waiting for ";

/** `waiting-for-approval`, as written in addresses. */
export function substateName(substate: RunSubstate): string {
  const name = Object.entries(RunSubstate).find(([, value]) => value === substate)?.[0] ?? "";
  return name.toLowerCase().replaceAll("_", "-");
}
