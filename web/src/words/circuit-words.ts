// Circuits and limits in words: one tone and one word for each state, and the person who set it.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Circuit, CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { QueueLimits } from "@drover/proto/drover/v1/queue_pb.ts";
import type { Status } from "../parts/badge.tsx";
import { clockTime } from "./time-words.ts";

/** A person's setting takes precedence over the state. */
export function circuitStatus({ setting, state }: Circuit): Status {
  if (setting === CircuitSetting.OPEN) return { tone: "paused", word: "held open" };
  if (setting === CircuitSetting.CLOSED) return { tone: "ok", word: "kept closed" };
  if (state === CircuitState.OPEN) return { tone: "bad", word: "open" };
  if (state === CircuitState.TRYING) return { tone: "warning", word: "open, probing" };
  return { tone: "ok", word: "closed" };
}

/** The person who set it and the reason, or when the next probe is due. */
export function circuitNote(circuit: Circuit): string {
  const { setting, setBy, why, state, tryTime, saw } = circuit;
  if (setting !== CircuitSetting.UNSPECIFIED) return `by ${setBy}${why === "" ? "" : `: ${why}`}`;
  const next =
    state === CircuitState.OPEN && tryTime
      ? `next probe at ${clockTime(timestampMs(tryTime)).slice(0, 8)}`
      : "";
  return [saw, next].filter((part) => part !== "").join("; ");
}

/** 10 in progress; 4.5 a second, 5 at once */
export function limitWords(limits: QueueLimits | undefined): string {
  if (!limits) return "";
  const { leased, perSecond, burst } = limits;
  return [
    ...(leased > 0 ? [`${leased} in progress`] : []),
    ...(perSecond > 0 ? [`${perSecond} a second, ${burst} at once`] : []),
  ].join("; ");
}
