// Cursors of the states that streams send. Equal states have equal cursors on every server, and no
// server stores them. A caller that reconnects sends the cursor that it saw last, and is sent the
// current state unless it has that cursor.
import { createHash } from "node:crypto";
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";

const LENGTH = 22;

export function cursorOf<D extends DescMessage>(schema: D, state: MessageShape<D>): string {
  const digest = createHash("sha256").update(toBinary(schema, state)).digest("base64url");
  return digest.slice(0, LENGTH);
}
