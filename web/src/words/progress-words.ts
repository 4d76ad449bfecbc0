// The progress of a task, as its agent reported it last.
import type { Progress } from "@drover/proto/drover/v1/task_pb.ts";
import { numberWords } from "./counts.ts";
import { visibleText } from "./foreign-words.ts";

/** Empty if the agent reported none. */
export function progressWords(progress: Progress | undefined): string {
  const { kind } = progress ?? {};
  switch (kind?.case) {
    case "fraction":
      return `${Math.round(kind.value * 100)} %`;
    case "counter":
      return numberWords(kind.value);
    case "cursor":
      return `at ${visibleText(kind.value)}`;
    default:
      return "";
  }
}
