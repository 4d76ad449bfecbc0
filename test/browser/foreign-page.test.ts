// A page of another site, in the browser of a person on the machine of a server that requires no
// token: by fetch, forms, frames and scripts it reads nothing and changes nothing.
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { callJson, listAt } from "../support/json-call.ts";
import { closeBrowser, openBrowser } from "./browser.ts";

let server: TestServer;
let site: Server;
let address: string;
beforeAll(async () => {
  server = await startDroverServer();
  site = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<h1>elsewhere</h1>");
  });
  await new Promise<void>((listening) => {
    site.listen(0, "127.0.0.1", listening);
  });
  const at = site.address();
  if (at === null || typeof at === "string") throw new Error("the site has no port");
  address = `http://127.0.0.1:${at.port}/`;
});
afterAll(async () => {
  await closeBrowser();
  site?.close();
  await server?.stop();
});

const CREATE = "/drover.v1.OperatorService/CreateNamespace";

/** What a page may try; each resolves to what it could read. */
const TRIES = `(async (own) => {
  const body = JSON.stringify({ name: "foreign" });
  const ask = (path, options) => fetch(own + path, options).then(
    async (answer) => answer.type + " " + answer.status + " " + (await answer.text()),
    () => "refused",
  );
  const json = { method: "POST", headers: { "content-type": "application/json" }, body };
  const seen = {
    json: await ask("${CREATE}", json),
    text: await ask("${CREATE}", { method: "POST", body }),
    blind: await ask("${CREATE}", { method: "POST", body, mode: "no-cors" }),
    token: await ask("${CREATE}", {
      ...json,
      headers: { ...json.headers, authorization: "Bearer drover_" + "A".repeat(43) },
    }),
    metrics: await ask("/metrics", {}),
    health: await ask("/healthz", {}),
    page: await ask("/", {}),
  };
  const frame = document.createElement("iframe");
  frame.name = "shown";
  document.body.append(frame);
  const load = () => new Promise((done) => frame.addEventListener("load", done, { once: true }));
  let loaded = load();
  frame.src = own + "/";
  await loaded;
  seen.frame = (() => {
    try { return "read " + frame.contentWindow.document.title; } catch { return "refused"; }
  })();
  const form = document.createElement("form");
  Object.assign(form, { method: "post", enctype: "text/plain", action: own + "${CREATE}", target: "shown" });
  const field = document.createElement("input");
  Object.assign(field, { name: '{"name":"foreign","region":"', value: '"}' });
  form.append(field);
  document.body.append(form);
  loaded = load();
  form.submit();
  await loaded;
  seen.script = await new Promise((done) => {
    const script = document.createElement("script");
    Object.assign(script, { src: own + "/metrics", onload: () => done("run"), onerror: () => done("refused") });
    document.body.append(script);
  });
  seen.socket = await new Promise((done) => {
    const socket = new WebSocket(own.replace("http", "ws") + "${CREATE}");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  return seen;
})`;

test("it reads nothing and changes nothing", async (context) => {
  const browser = await openBrowser(context);
  const page = await browser.newPage();
  await page.goto(address);
  const seen: unknown = await page.evaluate(`${TRIES}(${JSON.stringify(server.url)})`);
  await page.close();
  expect(seen).toEqual({
    json: "refused",
    text: "refused",
    // Sent without being read: the server has refused it, and CORP keeps the answer from the page.
    blind: "refused",
    token: "refused",
    metrics: "refused",
    health: "refused",
    page: "refused",
    frame: "refused",
    script: "refused",
    socket: "refused",
  });
  const { body } = await callJson(server.address, "OperatorService/ListNamespaces", {});
  expect(listAt(body, "namespaces")).toMatchObject([{ name: "default" }]);
});

test("the dashboard itself works as before", async (context) => {
  const browser = await openBrowser(context);
  const page = await browser.newPage();
  await page.goto(server.url);
  await page.getByRole("heading", { name: "Overview" }).waitFor({ timeout: 15_000 });
  await page.close();
});
