/** No webhook leads back into the machine that sends it, however its address is written. */
import { describe, expect, test } from "vitest";
import { isRefused } from "../../../server/integrations/webhooks/refused-addresses.ts";

describe("an address is refused", () => {
  test.for([
    ["of loopback", "127.0.0.1"],
    ["of loopback, all of its net", "127.8.9.10"],
    ["of loopback in IPv6", "::1"],
    ["of no host", "0.0.0.0"],
    ["of no host in IPv6", "::"],
    ["link-local, where clouds keep their metadata", "169.254.169.254"],
    ["link-local in IPv6", "fe80::1"],
    ["link-local with its zone", "fe80::1%eth0"],
    ["of AWS metadata in IPv6", "fd00:ec2::254"],
    ["of Alibaba metadata", "100.100.100.200"],
    ["of Azure's host", "168.63.129.16"],
    ["of many", "224.0.0.1"],
    ["of all", "255.255.255.255"],
    ["of loopback, mapped into IPv6", "::ffff:127.0.0.1"],
    ["of loopback, mapped into IPv6 in hex", "::ffff:7f00:1"],
    ["of metadata, mapped into IPv6", "::ffff:169.254.169.254"],
    ["of loopback in the old compatible form", "::7f00:1"],
    ["of metadata by NAT64", "64:ff9b::a9fe:a9fe"],
    ["of loopback by 6to4", "2002:7f00:1::"],
    ["that is none", "localhost"],
  ])("%s", ([, address]) => {
    expect(isRefused(address ?? "")).toBe(true);
  });
});

test.for(["10.1.2.3", "192.168.1.1", "93.184.215.14", "fd12::1", "2606:2800::1", "::ffff:8.8.8.8"])(
  "%s may be sent to: a receiver may live in one's own net",
  (address) => {
    expect(isRefused(address)).toBe(false);
  },
);
