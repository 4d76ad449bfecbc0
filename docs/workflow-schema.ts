/**
 * Makes docs/workflow.schema.json, by which an editor completes and checks the text of a workflow:
 * the schema of the text form, with the comments of the contract as descriptions.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { workflowTextSchema } from "../server/definition-text/schema.ts";

const contract = join(import.meta.dirname, "../proto/drover/v1/workflow.proto");

export function workflowSchemaText(): string {
  const comments = commentsOf(readFileSync(contract, "utf8"));
  const schema = workflowTextSchema(
    (message, field) => comments.get(`${message.name}.${field.name}`) ?? "",
  );
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** The comment above each field of a message, by `Message.field`. Messages are not nested here. */
function commentsOf(proto: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  let message = "";
  let above: string[] = [];
  for (const line of proto.split("\n").map((text) => text.trim())) {
    const comment = /^\/\/ ?(.*)$/.exec(line);
    const field = /^(?:repeated |optional )?[\w.]+ (\w+) = \d+/.exec(line);
    const opened = /^message (\w+) \{/.exec(line);
    if (comment) above.push(comment[1] ?? "");
    else {
      if (opened?.[1]) message = opened[1];
      else if (field?.[1]) comments.set(`${message}.${field[1]}`, above.join(" "));
      above = [];
    }
  }
  return comments;
}
