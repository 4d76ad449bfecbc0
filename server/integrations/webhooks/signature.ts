// The signature by which a receiver checks that a webhook is from this server, and that no old one
// is sent again.
//
//     Drover-Signature: t=<seconds since 1970>,v1=<hex>
//
// v1 is HMAC-SHA256, keyed by the hook's secret, over `<t>.<body>`. A receiver compares it in
// constant time, and refuses a `t` that is more than a few minutes away.
import { createHmac } from "node:crypto";
import type { EpochMs } from "../../core/model/attempt.ts";

export function signatureOf(secret: string, at: EpochMs, body: string): string {
  const t = Math.floor(at / 1_000);
  const v1 = createHmac("sha256", secret).update(`${t}.${body}`).digest("hex");
  return `t=${t},v1=${v1}`;
}
