// What limits of one address count as one: a peer may use as many ports as it likes, and a machine
// has all addresses of its IPv6 network.
import { isIPv6 } from "node:net";

const MAPPED = "::ffff:";

/** An IPv4 address as it is; of an IPv6 address the first 64 bits. */
export function networkOf(address = ""): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith(MAPPED)) return address.slice(MAPPED.length);
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  const rest = tail === undefined || tail === "" ? 0 : tail.split(":").length;
  const filled = [...groups, ...Array.from({ length: 8 - groups.length - rest }, () => "0")];
  return [...filled, ...(tail ?? "").split(":")].slice(0, 4).join(":");
}
