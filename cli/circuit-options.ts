/** Options of a server that say when circuits open, and for how long. */
import { type Command, InvalidArgumentError } from "commander";
import { parseDuration, wholeNumber } from "./context.ts";

export interface CircuitFlags {
  readonly circuitEnds?: number;
  readonly circuitShare?: number;
  readonly circuitRest?: number;
  readonly circuitRestMax?: number;
}

/** What is left out is as by default. */
export interface CircuitOptions {
  readonly ends?: number;
  /** From 0 to 1. */
  readonly share?: number;
  readonly restMs?: number;
  readonly restMsMax?: number;
}

export function addCircuitOptions(command: Command): Command {
  return command
    .option("--circuit-ends <n>", "tasks within a minute that say enough (20)", wholeNumber(1, 1e6))
    .option("--circuit-share <percent>", "so many of them failed: its circuit opens (80)", shareOf)
    .option("--circuit-rest <duration>", "until one task tries, then doubled (30s)", parseDuration)
    .option("--circuit-rest-max <duration>", "the longest rest (5m)", parseDuration);
}

function shareOf(text: string): number {
  return wholeNumber(1, 100)(text) / 100;
}

/** Throws where the longest rest is shorter than the first. */
export function circuitsOf(flags: CircuitFlags): CircuitOptions {
  const { circuitEnds: ends, circuitShare: share } = flags;
  const { circuitRest: restMs, circuitRestMax: restMsMax } = flags;
  if (restMs !== undefined && restMsMax !== undefined && restMsMax < restMs)
    throw new InvalidArgumentError("--circuit-rest-max must not be shorter than --circuit-rest.");
  return {
    ...(ends !== undefined && { ends }),
    ...(share !== undefined && { share }),
    ...(restMs !== undefined && { restMs }),
    ...(restMsMax !== undefined && { restMsMax }),
  };
}
