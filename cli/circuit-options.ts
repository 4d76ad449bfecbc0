/** Options of a server that say when circuits open, and for how long. */
import { type Command, InvalidArgumentError } from "commander";
import { parseDuration, wholeNumber } from "./context.ts";

export interface CircuitFlags {
  readonly circuitEnds?: number;
  readonly circuitShare?: number;
  readonly circuitWindow?: number;
  readonly circuitRest?: number;
  readonly circuitRestMax?: number;
}

/** What is left out is as by default. */
export interface CircuitOptions {
  readonly ends?: number;
  /** From 0 to 1. */
  readonly share?: number;
  readonly windowMs?: number;
  readonly restMs?: number;
  readonly restMsMax?: number;
}

export function addCircuitOptions(command: Command): Command {
  return command
    .option("--circuit-ends <n>", "tasks in the window that say enough (20)", wholeNumber(1, 1e6))
    .option("--circuit-window <duration>", "what is counted, 10s to 1h (1m)", parseDuration)
    .option("--circuit-share <percent>", "so many of them failed: its circuit opens (80)", shareOf)
    .option("--circuit-rest <duration>", "until one task tries, then doubled (30s)", parseDuration)
    .option("--circuit-rest-max <duration>", "the longest rest (5m)", parseDuration);
}

function shareOf(text: string): number {
  return wholeNumber(1, 100)(text) / 100;
}

const WINDOW_MS_MIN = 10_000;
const WINDOW_MS_MAX = 3_600_000;

/** Throws where the longest rest is shorter than the first, or the window is none. */
export function circuitsOf(flags: CircuitFlags): CircuitOptions {
  const { circuitEnds: ends, circuitShare: share } = flags;
  const { circuitRest: restMs, circuitRestMax: restMsMax } = flags;
  if (restMs !== undefined && restMsMax !== undefined && restMsMax < restMs)
    throw new InvalidArgumentError("--circuit-rest-max must not be shorter than --circuit-rest.");
  const windowMs = flags.circuitWindow;
  if (windowMs !== undefined && (windowMs < WINDOW_MS_MIN || windowMs > WINDOW_MS_MAX))
    throw new InvalidArgumentError(`--circuit-window is ${windowMs} ms: give 10s to 1h.`);
  return {
    ...(windowMs !== undefined && { windowMs }),
    ...(ends !== undefined && { ends }),
    ...(share !== undefined && { share }),
    ...(restMs !== undefined && { restMs }),
    ...(restMsMax !== undefined && { restMsMax }),
  };
}
