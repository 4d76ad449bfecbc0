// The limits of a namespace as text.
import type { NamespaceLimits } from "@drover/proto/drover/v1/namespace_pb.ts";
import { numberWords } from "./counts.ts";
import { durationWords } from "./time-words.ts";

const KIB = 1_024;

/** `12 of 5,000`, `12, no limit`; `more`: there are more than were counted. */
export function openRunsWords(
  { count, more }: { readonly count: number; readonly more: boolean },
  limits: NamespaceLimits | undefined,
): string {
  const open = `${numberWords(count)}${more ? " or more" : ""}`;
  return limits?.openRuns ? `${open} of ${numberWords(limits.openRuns)}` : `${open}, no limit`;
}

/** `50`, `50, bursts of 200`, `no limit`; a burst of one second is the default. */
export function rateWords(limits: NamespaceLimits | undefined): string {
  if (!limits?.runsPerSecond) return "no limit";
  const { runsPerSecond, burst } = limits;
  const isDefault = burst === 0 || burst === Math.max(1, Math.floor(runsPerSecond));
  return `${numberWords(runsPerSecond)}${isDefault ? "" : `, bursts of ${numberWords(burst)}`}`;
}

/** `64 KiB`; without a limit of its own, that of the server. */
export function payloadWords(limits: NamespaceLimits | undefined): string {
  const bytes = limits?.payloadBytes ?? 0;
  if (bytes === 0) return "as the server";
  return bytes % KIB === 0 ? `${numberWords(bytes / KIB)} KiB` : `${numberWords(bytes)} bytes`;
}

const BYTE_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A value of GetLimits in its unit; undefined: there is none. */
export function limitValue(value: number | undefined, unit: string): string | undefined {
  if (value === undefined) return undefined;
  switch (unit) {
    case "bytes": {
      const power = value < KIB ? 0 : Math.floor(Math.log(value) / Math.log(KIB));
      const last = Math.min(power, BYTE_UNITS.length - 1);
      return `${numberWords(Math.round((value / KIB ** last) * 10) / 10)} ${BYTE_UNITS[last]}`;
    }
    case "ms":
      return durationWords(value);
    default:
      return numberWords(Math.round(value * 1_000) / 1_000);
  }
}
