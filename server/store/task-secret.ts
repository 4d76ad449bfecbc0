// The secret of a hand-out, and its digest in a callback token: the holder of a callback token
// cannot make a task token from it.
import { hash } from "node:crypto";

/** SHA-256 of the secret's bytes, hex. */
export function secretDigest(secret: string): string {
  return hash("sha256", Buffer.from(secret, "hex"), "hex");
}
