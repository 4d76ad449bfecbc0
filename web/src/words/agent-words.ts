// Instances of agents, and how their attempts ended, in words.
import { durationMs } from "@bufbuild/protobuf/wkt";
import type {
  AgentInfo,
  AttemptCounts,
  FailingAgent,
} from "@drover/proto/drover/v1/agent_info_pb.ts";
import { counted, numberWords } from "./counts.ts";
import { durationWords } from "./time-words.ts";

/** The first characters of a session, which name an instance: `3f2a91bc` */
export function instanceWords(session: Uint8Array): string {
  return session.toHex().slice(0, 8);
}

/** `pc-7, pid 12`; empty: the agent has stated neither. */
export function processWords({ host, pid }: { readonly host: string; readonly pid: number }) {
  return [...(host === "" ? [] : [host]), ...(pid === 0 ? [] : [`pid ${pid}`])].join(", ");
}

/** `200`, `3 of 200 failed, 2 unknown`; empty if no attempt ended. */
export function attemptsWords(counts: AttemptCounts | undefined): string {
  const { ended, failed, unknown } = counts ?? { ended: 0, failed: 0, unknown: 0 };
  if (ended === 0) return "";
  if (failed + unknown === 0) return numberWords(ended);
  const first = failed > 0 ? `${numberWords(failed)} of ${numberWords(ended)} failed` : "";
  if (unknown === 0) return first;
  return failed > 0
    ? `${first}, ${numberWords(unknown)} unknown`
    : `${numberWords(unknown)} of ${numberWords(ended)} unknown`;
}

/** Of the attempts, in percent; rounded down, so that 100 means all. */
function succeededPercent({ ended, failed, unknown }: AttemptCounts): number {
  return Math.floor((100 * (ended - failed - unknown)) / ended);
}

/** `38 of 38 attempts in the last hour failed. Other agents succeed with 98 % of theirs.` */
export function failingWords({ attempts, others }: FailingAgent): string {
  const { ended, failed, unknown } = attempts ?? { ended: 0, failed: 0, unknown: 0 };
  const open = unknown === 0 ? "" : `, ${numberWords(unknown)} of them with an unknown outcome`;
  const own = `${numberWords(failed + unknown)} of ${counted(ended, "attempt")} in the last hour failed${open}.`;
  return !others || others.ended === 0
    ? `${own} No other agent attempted it.`
    : `${own} Other agents succeed with ${succeededPercent(others)} % of theirs.`;
}

/** A smaller difference may be the way of the call. */
const CLOCK_MS = 5_000;

/** `1 h behind`; empty: the agent's clock is the server's, or is not known. */
export function clockWords({ clockAhead }: Pick<AgentInfo, "clockAhead">): string {
  const ms = clockAhead === undefined ? 0 : durationMs(clockAhead);
  if (Math.abs(ms) < CLOCK_MS) return "";
  return `${durationWords(Math.abs(ms), "coarse")} ${ms > 0 ? "ahead" : "behind"}`;
}
