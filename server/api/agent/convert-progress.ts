// Converts an agent's progress between protobuf and the text that a lease stores.
import { create } from "@bufbuild/protobuf";
import { type Progress, ProgressSchema } from "@drover/proto/drover/v1/task_pb.ts";

/** Kind and value as the agent reported them, so that two reports can be compared. */
export function progressText(progress: Progress | undefined): string | null {
  switch (progress?.kind.case) {
    case "fraction":
    case "counter":
    case "cursor":
      return `${progress.kind.case} ${progress.kind.value}`;
    default:
      return null;
  }
}

/** A text of any other form is shown as a cursor. */
export function progressMessage(text: string): Progress {
  const at = text.indexOf(" ");
  const value = text.slice(at + 1);
  switch (text.slice(0, at)) {
    case "fraction":
      return create(ProgressSchema, { kind: { case: "fraction", value: Number(value) } });
    case "counter":
      return create(ProgressSchema, { kind: { case: "counter", value: BigInt(value) } });
    case "cursor":
      return create(ProgressSchema, { kind: { case: "cursor", value } });
    default:
      return create(ProgressSchema, { kind: { case: "cursor", value: text } });
  }
}
