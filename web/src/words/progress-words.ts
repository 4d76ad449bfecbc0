// How far a task is, or had come, as its agent said.
import type { Progress } from "@drover/proto/drover/v1/task_pb.ts";
import { numberWords } from "./counts.ts";
import { visibleText } from "./foreign-words.ts";

/** Empty where nothing was said. */
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
