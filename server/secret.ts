// The secret of a hand-out, and the digest of it that a callback token carries: whoever was given
// the callback token cannot make a task token of it.
import { hash } from "node:crypto";

/** SHA-256 of the secret's bytes, hex. */
export function secretDigest(secret: string): string {
  return hash("sha256", Buffer.from(secret, "hex"), "hex");
}
