// An optional moment of a message: nothing where there is none.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Moment } from "../core/attempt.ts";

export function timeField<Name extends string>(name: Name, at: Moment | null) {
  type Field = { readonly [key in Name]?: ReturnType<typeof timestampFromMs> };
  return (at === null ? {} : { [name]: timestampFromMs(at) }) as Field;
}
