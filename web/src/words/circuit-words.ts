// Circuits and limits in words: one tone and one word for each state, and who set it.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Circuit, CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { QueueLimits } from "@drover/proto/drover/v1/queue_pb.ts";
import type { Status } from "../parts/badge.tsx";
import { clockTime } from "./time-words.ts";

/** A person's setting takes precedence over the state. */
export function circuitStatus({ setting, state }: Circuit): Status {
  if (setting === CircuitSetting.OPEN) return { tone: "paused", word: "held open" };
  if (setting === CircuitSetting.CLOSED) return { tone: "ok", word: "held closed" };
  if (state === CircuitState.OPEN) return { tone: "bad", word: "open" };
  if (state === CircuitState.TRYING) return { tone: "warning", word: "open, one task tries" };
  return { tone: "ok", word: "closed" };
}

/** Who set it and why, or when the next probe is due. */
export function circuitNote(circuit: Circuit): string {
  const { setting, setBy, why, state, tryTime, saw } = circuit;
  if (setting !== CircuitSetting.UNSPECIFIED) return `said ${setBy}${why === "" ? "" : `: ${why}`}`;
  const next =
    state === CircuitState.OPEN && tryTime
      ? `one task tries from ${clockTime(timestampMs(tryTime)).slice(0, 8)}`
      : "";
  return [saw, next].filter((part) => part !== "").join("; ");
}

/** 10 with agents; 4.5 a second, 5 at once */
export function limitWords(limits: QueueLimits | undefined): string {
  if (!limits) return "";
  const { leased, perSecond, burst } = limits;
  return [
    ...(leased > 0 ? [`${leased} with agents`] : []),
    ...(perSecond > 0 ? [`${perSecond} a second, ${burst} at once`] : []),
  ].join("; ");
}
