// A field for a time of a filter.
import { fieldTime, timeOfField } from "../words/time-words.ts";
import { Field } from "./field.tsx";

interface TimeFieldProps {
  readonly name: string;
  /** Milliseconds since 1970; null: none. */
  readonly ms: number | null;
  readonly onSay: (ms: number | null) => void;
}

export function TimeField({ name, ms, onSay }: TimeFieldProps) {
  return (
    <Field name={name}>
      <input
        type="datetime-local"
        value={ms === null ? "" : fieldTime(ms)}
        onChange={({ target }) => onSay(timeOfField(target.value))}
      />
    </Field>
  );
}
