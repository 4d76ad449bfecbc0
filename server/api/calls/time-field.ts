// Optional times in messages: no field if there is no time.
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { EpochMs } from "../../core/model/attempt.ts";
import { refusal } from "./errors.ts";

export function timeField<Name extends string>(name: Name, at: EpochMs | null) {
  type Field = { readonly [key in Name]?: ReturnType<typeof timestampFromMs> };
  return (at === null ? {} : { [name]: timestampFromMs(at) }) as Field;
}

/** The range of a Timestamp: the years 1 to 9999. */
const SECONDS_MIN = -62_135_596_800n;
const SECONDS_MAX = 253_402_300_799n;

/** `path`: the field's path, for the error about an invalid time. */
export function epochMsFrom(timestamp: Timestamp | undefined, path: string): number | null {
  if (timestamp === undefined) return null;
  if (timestamp.seconds >= SECONDS_MIN && timestamp.seconds <= SECONDS_MAX)
    return timestampMs(timestamp);
  const message = `${timestamp.seconds} s since 1970 is no time between the years 1 and 9999`;
  throw refusal("INVALID_REQUEST", [{ path, message }]);
}
