// Names of states that streams send: equal for equal states, on every server, and kept nowhere. Who
// comes back after a broken stream says which one he has seen, and is sent the state now unless it
// is that one.
import { createHash } from "node:crypto";
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";

const LENGTH = 22;

export function cursorOf<D extends DescMessage>(schema: D, state: MessageShape<D>): string {
  const digest = createHash("sha256").update(toBinary(schema, state)).digest("base64url");
  return digest.slice(0, LENGTH);
}
