// Page tokens, opaque to callers: base64url of
//   digest (8 bytes) of the list that the token belongs to · the last item of the previous page
// The digest shows that a token is used with another namespace, filter or order.
import { createHash } from "node:crypto";
import { refusal } from "./errors.ts";

const DIGEST_BYTES = 8;

/** `list`: everything that distinguishes one list from another, in a fixed form. */
export function formatPageToken(list: string, last: string): string {
  return Buffer.concat([digestOf(list), Buffer.from(last)]).toString("base64url");
}

/** The last item of the previous page; null for the first page. */
export function parsePageToken(
  list: string,
  token: string,
  isItem: (last: string) => boolean,
): string | null {
  if (token === "") return null;
  const bytes = Buffer.from(token, "base64url");
  const last = bytes.toString("utf8", DIGEST_BYTES);
  const ours = bytes.subarray(0, DIGEST_BYTES).equals(digestOf(list)) && isItem(last);
  if (!ours || bytes.toString("base64url") !== token) {
    const message = "is not of this namespace, filter and order: start again at the first page";
    throw refusal("PAGE_TOKEN_INVALID", [{ path: "page_token", message }]);
  }
  return last;
}

function digestOf(list: string): Buffer {
  return createHash("sha256").update(list).digest().subarray(0, DIGEST_BYTES);
}
