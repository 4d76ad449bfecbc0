// A state as a colour, a shape and a word, so that none of them is needed alone.
import { Foreign } from "./foreign.tsx";
import { Icon, type IconName } from "./icon.tsx";

/**
 * Each tone has its own shape. `idle`: not started; `paused`: held by a person; `undo`:
 * compensation.
 */
export type Tone = "ok" | "moving" | "waiting" | "idle" | "paused" | "warning" | "bad" | "undo";

export interface Status {
  readonly tone: Tone;
  readonly word: string;
}

export function Badge({ tone, word }: Status) {
  const icon: IconName = tone;
  return (
    <span className="badge" data-tone={tone}>
      <Icon name={icon} />
      <Foreign text={word} />
    </span>
  );
}
