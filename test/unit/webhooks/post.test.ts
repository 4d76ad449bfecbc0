/** One webhook over real sockets: what it carries, what counts as received, where it never goes. */
import { createHmac } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import { createPost } from "../../../server/integrations/webhooks/post.ts";
import type { Webhook } from "../../../server/supervisor/webhook-deliveries.ts";
import { type Receiver, type ReceiverAnswer, startReceiver } from "../../support/receiver.ts";
import { createServerClock } from "../../support/server-clock.ts";

const open = createPost({ clock: systemClock, allowLocal: true });
const guarded = createPost({ clock: systemClock, allowLocal: false });

let receiver: Receiver | null = null;
afterEach(async () => {
  await receiver?.close();
  receiver = null;
});

async function receive(answer?: ReceiverAnswer | "silence"): Promise<Receiver> {
  receiver = await startReceiver(answer && (() => answer));
  return receiver;
}

function webhook(url: string): Webhook {
  const body = '{"kind":"run-ended","name":"Zoë"}';
  return { id: "event-1", url, secret: "a secret of sixteen", at: 1_767_225_600_999, body };
}

describe("a webhook", () => {
  test("is a POST of its body, with its id and a signature over the time and the body", async () => {
    const { url, received } = await receive();
    expect(await open(webhook(`${url}/in?x=1`))).toEqual({ kind: "delivered" });
    const [got] = received;
    const v1 = createHmac("sha256", "a secret of sixteen")
      .update(`1767225600.${webhook(url).body}`)
      .digest("hex");
    expect(got).toMatchObject({
      path: "/in?x=1",
      body: webhook(url).body,
      headers: {
        "content-type": "application/json",
        "drover-event-id": "event-1",
        "drover-signature": `t=1767225600,v1=${v1}`,
      },
    });
  });

  test.for([200, 202, 299])("is delivered by the answer %d", async (status) => {
    const { url } = await receive({ status });
    expect(await open(webhook(url))).toEqual({ kind: "delivered" });
  });

  test.for([300, 400, 410, 500])("is not delivered by the answer %d", async (status) => {
    const { url } = await receive({ status, body: " no,\n never " });
    expect(await open(webhook(url))).toEqual({
      kind: "failed",
      why: `answered ${status}: no, never`,
    });
  });

  test("follows no redirect", async () => {
    const there = await startReceiver();
    const { url } = await receive({ status: 307, headers: { location: there.url } });
    expect(await open(webhook(url))).toEqual({ kind: "failed", why: "answered 307" });
    expect(there.received).toEqual([]);
    await there.close();
  });

  test("reads no more of a long answer than it shows", async () => {
    const { url } = await receive({ status: 500, body: "x".repeat(10_000_000) });
    expect(await open(webhook(url))).toEqual({
      kind: "failed",
      why: `answered 500: ${"x".repeat(200)}`,
    });
  });

  test("without an answer is given up after ten seconds", async () => {
    const clock = createServerClock();
    const { url, received } = await receive("silence");
    const sent = createPost({ clock, allowLocal: true })(webhook(url));
    await expect.poll(() => received.length, { interval: 1 }).toBe(1);
    clock.advance(10_000);
    expect(await sent).toEqual({ kind: "failed", why: "no answer within 10 s" });
  });

  test("to a port without a listener is reported so", async () => {
    const { url, close } = await startReceiver();
    await close();
    expect(await open(webhook(url))).toMatchObject({
      kind: "failed",
      why: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

describe("without --allow-local-webhooks a webhook", () => {
  /** Forms of one address, all of which lead to this machine. */
  const forms = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0"];
  test.for(forms)("never reaches this machine as %s", async (host) => {
    const { url, received } = await receive();
    const { port } = new URL(url);
    expect(await guarded(webhook(`http://${host}:${port}/`))).toMatchObject({
      kind: "failed",
      why: expect.stringContaining("--allow-local-webhooks"),
    });
    expect(received).toEqual([]);
  });
});

test.for(["ftp://example.com/", "file:///etc/passwd", "no url"])("%s is no target", async (url) => {
  expect(await open(webhook(url))).toEqual({
    kind: "failed",
    why: `"${url}" is no http or https URL`,
  });
});
