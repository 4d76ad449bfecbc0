/** The progress of a task, as its agent reported it last. */
import type { Progress } from "@drover/proto/drover/v1/task_pb.ts";
import { clean } from "./words.ts";

/** `47 %`, `1200`, `at page-7`; empty if the agent reported none. */
export function progressWords(progress: Progress | undefined): string {
  const { kind } = progress ?? {};
  switch (kind?.case) {
    case "fraction":
      return `${Math.round(kind.value * 100)} %`;
    case "counter":
      return String(kind.value);
    case "cursor":
      return `at ${clean(kind.value)}`;
    default:
      return "";
  }
}
