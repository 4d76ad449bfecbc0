// UUIDs as text, from 16 bytes: run ids, and the ids that processes give themselves.
import type { Random } from "./clock.ts";

/** The form that PostgreSQL returns: lower case, with dashes. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether the text is a UUID in that form. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** A new UUID, from 16 random bytes. */
export function randomUuid(random: Random): string {
  return uuidText(random.bytes(16));
}
