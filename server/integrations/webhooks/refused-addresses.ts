// Addresses to which no webhook and no request of the http agent is sent, whatever name they have.
import { BlockList, isIP } from "node:net";

const refused = new BlockList();
// Loopback, and "this host".
refused.addSubnet("127.0.0.0", 8, "ipv4");
refused.addSubnet("0.0.0.0", 8, "ipv4");
refused.addAddress("::1", "ipv6");
refused.addAddress("::", "ipv6");
// Link-local: 169.254.169.254 has the metadata of most clouds.
refused.addSubnet("169.254.0.0", 16, "ipv4");
refused.addSubnet("fe80::", 10, "ipv6");
// Metadata services elsewhere: of AWS by IPv6, of Alibaba, of Oracle, of Azure.
refused.addAddress("fd00:ec2::254", "ipv6");
refused.addAddress("100.100.100.200", "ipv4");
refused.addAddress("192.0.0.192", "ipv4");
refused.addAddress("168.63.129.16", "ipv4");
// Multicast and reserved addresses.
refused.addSubnet("224.0.0.0", 3, "ipv4");
refused.addSubnet("ff00::", 8, "ipv6");
// IPv4 addresses in IPv6 form (NAT64, 6to4, Teredo, and the old compatible form): no public
// receiver is reached only by them.
refused.addSubnet("64:ff9b::", 96, "ipv6");
refused.addSubnet("64:ff9b:1::", 48, "ipv6");
refused.addSubnet("2002::", 16, "ipv6");
refused.addSubnet("2001::", 32, "ipv6");
refused.addSubnet("::", 96, "ipv6");

/**
 * Addresses to which nothing is sent unless it is allowed: those that lead back to this machine, or
 * to what only its cloud should reach. A request to them would have this program's rights instead
 * of those of the person who named the address.
 *
 * `address` is an IP address in any of its forms, without brackets.
 */
export function isRefused(address: string): boolean {
  const [bare = ""] = address.split("%");
  const family = isIP(bare);
  return family === 0 || refused.check(bare, family === 4 ? "ipv4" : "ipv6");
}
