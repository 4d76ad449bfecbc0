// Sends one webhook. The connection goes to an address that was checked: the look-up of this file
// resolves the name once, and the socket gets exactly the addresses that have passed, so a name
// that resolves to another address later has no effect. Redirects are not followed, proxies not
// used.

import { createHmac } from "node:crypto";
import { lookup as resolve } from "node:dns";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Post, PostResult, Webhook } from "../../supervisor/webhook-deliveries.ts";
import { isRefused } from "./refused-addresses.ts";

/** From the look-up of the name to the end of the answer's head. */
const TIMEOUT_MS = 10_000;
/** Characters of the answer's body that an error contains. */
const SHOWN_MAX = 200;
const HEADERS_BYTES_MAX = 16 * 1024;

interface PostOptions {
  readonly clock: Clock;
  /** Allows targets on this machine, its link and its cloud. */
  readonly allowLocal: boolean;
}

export function createPost({ clock, allowLocal }: PostOptions): Post {
  return (webhook) =>
    new Promise((settle) => {
      const done = (result: PostResult): void => {
        timer.cancel();
        settle(result);
      };
      const fail = (why: string): void => done({ kind: "failed", why });
      const request = begin(webhook, allowLocal);
      const timer = clock.after(TIMEOUT_MS, () => {
        if (typeof request !== "string") request.destroy();
        fail(`no answer within ${TIMEOUT_MS / 1_000} s`);
      });
      if (typeof request === "string") {
        fail(request);
        return;
      }
      request.on("error", (error) => fail(error.message === "" ? String(error) : error.message));
      request.on("response", (response) => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status < 300) {
          response.destroy();
          done({ kind: "delivered" });
          return;
        }
        startOf(response, (text) => fail(`answered ${status}${text === "" ? "" : `: ${text}`}`));
      });
      request.end(webhook.body);
    });
}

/** The request, not yet ended; or why there is none. */
function begin(webhook: Webhook, allowLocal: boolean): http.ClientRequest | string {
  const url = URL.canParse(webhook.url) ? new URL(webhook.url) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    return `"${webhook.url}" is no http or https URL`;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!allowLocal && isIP(host) !== 0 && isRefused(host)) return refusal(host, host);
  return (url.protocol === "https:" ? https : http).request(url, {
    method: "POST",
    // No pool: each connection is made to an address that this look-up has checked.
    agent: false,
    lookup: allowLocal ? resolve : checkedLookup,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(webhook.body),
      "user-agent": "drover",
      "drover-event-id": webhook.id,
      "drover-signature": signatureOf(webhook.secret, webhook.at, webhook.body),
    },
  });
}

/** One refused address refuses the name: a DNS server that returns it cannot be trusted. */
const checkedLookup: LookupFunction = (host, options, callback) => {
  resolve(host, { ...options, all: true }, (error, addresses) => {
    const bad = error ? undefined : addresses.find(({ address }) => isRefused(address));
    const [first] = addresses ?? [];
    if (error) callback(error, "");
    else if (bad) callback(new Error(refusal(host, bad.address)), "");
    else if (options.all) callback(null, addresses);
    else if (first) callback(null, first.address, first.family);
    else callback(new Error(`"${host}" has no address`), "");
  });
};

function refusal(host: string, address: string): string {
  const where = host === address ? address : `"${host}" is ${address}, and that`;
  return `${where} is an address of this machine, its link or its cloud: allow it by --allow-local-webhooks`;
}

/** The first characters of a body of any length; the rest is never read. */
function startOf(response: http.IncomingMessage, then: (text: string) => void): void {
  let text = "";
  const end = (): void => {
    response.removeAllListeners("data");
    response.destroy();
    then(text.slice(0, SHOWN_MAX).replaceAll(/\s+/g, " ").trim());
  };
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    text += chunk;
    if (text.length >= SHOWN_MAX) end();
  });
  response.on("error", () => undefined);
  response.on("end", end);
}

/**
 * The signature by which a receiver checks that a webhook is from this server, and that no old one
 * is sent again.
 *
 *     Drover-Signature: t=<seconds since 1970>,v1=<hex>
 *
 * v1 is HMAC-SHA256, keyed by the hook's secret, over `<t>.<body>`. A receiver compares it in
 * constant time, and refuses a `t` that is more than a few minutes away.
 */
function signatureOf(secret: string, at: EpochMs, body: string): string {
  const t = Math.floor(at / 1_000);
  const v1 = createHmac("sha256", secret).update(`${t}.${body}`).digest("hex");
  return `t=${t},v1=${v1}`;
}
