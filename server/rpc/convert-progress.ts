// What an agent reports as progress, between the wire and the text that a lease keeps.
import { create } from "@bufbuild/protobuf";
import { type Progress, ProgressSchema } from "@drover/proto/drover/v1/task_pb.ts";

/** As the agent said it, kind and value, so that two of them can be told apart. */
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

/** A text that is none of `progressText` is shown as a cursor. */
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
