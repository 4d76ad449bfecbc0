// Converts the single values of a definition between protobuf and the core. In the core a field is
// present only if the definition sets it.
import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";

export function msOf(duration: Duration | undefined): number | undefined {
  return duration && durationMs(duration);
}

export function durationField(ms: number | undefined): Duration | undefined {
  return ms === undefined ? undefined : durationFromMs(ms);
}

/** The core's word for an enum value; undefined for UNSPECIFIED. */
export function wordOf<Word extends string>(
  values: Readonly<Record<Word, number>>,
  value: number,
): Word | undefined {
  return (Object.keys(values) as Word[]).find((word) => values[word] === value);
}

/** A field that is present only if its value is set. */
export function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in Name]: Value });
}
