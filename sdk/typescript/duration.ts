/**
 * Durations as people write them ("30s", "1h30m", "250ms") or as milliseconds, and in the form of
 * protobuf.
 */
import { create } from "@bufbuild/protobuf";
import { type Duration as DurationMessage, DurationSchema } from "@bufbuild/protobuf/wkt";

/** Milliseconds, or numbers with units from d, h, m, s and ms, largest first: "1h30m". */
export type Duration = number | string;

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};

export function durationMs(duration: Duration): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (!Number.isFinite(ms) || ms < 0) {
    throw new RangeError(`The duration ${duration} is not a number of milliseconds from 0 up.`);
  }
  return ms;
}

function parse(text: string): number {
  const shape = /^(?=\d)(\d+d)?(\d+h)?(\d+m(?!s))?(\d+(?:\.\d+)?s)?(\d+ms)?$/.exec(text);
  if (shape === null) {
    throw new RangeError(
      `The duration "${text}" cannot be read. Write it as 250ms, 30s, 1.5s, 1h30m or 7d.`,
    );
  }
  let sum = 0;
  for (const part of shape.slice(1)) {
    const [, digits, unit] = /^([\d.]+)([a-z]+)$/.exec(part ?? "") ?? [];
    if (digits !== undefined && unit !== undefined) sum += Number(digits) * (unitMs[unit] ?? 0);
  }
  return sum;
}

export function toDuration(duration: Duration): DurationMessage {
  const micros = Math.round(durationMs(duration) * 1_000);
  return create(DurationSchema, {
    seconds: BigInt(Math.floor(micros / 1_000_000)),
    nanos: (micros % 1_000_000) * 1_000,
  });
}

/** An absent duration counts as 0. */
export function fromDuration(message: DurationMessage | undefined): number {
  if (message === undefined) return 0;
  return Number(message.seconds) * 1_000 + message.nanos / 1_000_000;
}
