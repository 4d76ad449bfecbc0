// The dashboard's files: where they are, what a browser may do with them, and what is answered when
// there are none.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NO_IDENTITIES, oidcConfig } from "../../../server/identity-config.ts";
import { startWorld, type World } from "./rpc-world.ts";

const SCRIPT = `/* ${"a long script ".repeat(200)} */`;
const folder = mkdtempSync(join(tmpdir(), "drover-dashboard-"));
let world: World;

beforeAll(async () => {
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Drover</title>");
  writeFileSync(join(folder, "mark.svg"), "<svg/>");
  writeFileSync(join(folder, "assets/main-abc.js"), SCRIPT);
  writeFileSync(join(folder, "routes.json"), JSON.stringify(["/", "/runs/:run/*?", "/audit/*?"]));
  world = await startWorld({ dashboard: folder });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Not fetch, which unpacks and sets headers of its own. */
function ask(
  path: string,
  { method = "GET", headers = {}, of = world }: AskOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: of.port, path, method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        const { statusCode = 0 } = answer;
        resolve({ status: statusCode, headers: answer.headers, body: Buffer.concat(chunks) });
      });
    });
    sent.on("error", reject).end();
  });
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly of?: World;
}

const browser = { accept: "text/html,application/xhtml+xml" };

describe("the pages", () => {
  test.each([
    "/",
    "/?x=1",
    "/runs/r-1",
    "/runs/r-1/steps",
    "/audit",
    "/ns/blue/audit",
    "/ns/blue/",
  ])("%s is answered by the dashboard", async (path) => {
    const { status, headers, body } = await ask(path);
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: "text/html; charset=utf-8",
    });
    expect(String(body)).toContain("<title>Drover</title>");
  });

  test("an address that is no page's is 404, which the dashboard shows to a browser", async () => {
    const page = await ask("/no-such", { headers: browser });
    expect([page.status, String(page.body)]).toEqual([404, expect.stringContaining("<title>")]);
    const program = await ask("/no-such");
    expect([program.status, String(program.body)]).toEqual([
      404,
      expect.stringContaining("There is nothing at /no-such"),
    ]);
    const script = await ask("/assets/gone-abc.js", { headers: browser });
    expect([script.status, script.headers["content-type"]]).toEqual([404, "application/json"]);
  });

  test.each(["/../package.json", "/assets/../../package.json", "/%2e%2e/package.json"])(
    "%s leads to no file outside the folder",
    async (path) => {
      expect((await ask(path)).status).toBe(404);
    },
  );

  test("what was there before is there still", async () => {
    expect((await ask("/healthz", { headers: browser })).headers["content-type"]).toBe(
      "application/json",
    );
    expect((await ask("/", { method: "POST" })).status).toBe(404);
  });
});

describe("what a browser may do with them", () => {
  test("runs scripts of this origin alone, and nothing inline", async () => {
    for (const path of ["/", "/assets/main-abc.js", "/mark.svg"]) {
      const { headers } = await ask(path);
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
    }
  });

  test("keeps for ever what is named by its content, and asks again for all else", async () => {
    const asset = await ask("/assets/main-abc.js");
    expect(asset.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    const page = await ask("/");
    expect(page.headers["cache-control"]).toBe("no-cache");
    const again = await ask("/", { headers: { "if-none-match": String(page.headers.etag) } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  test("gets it packed if it takes that", async () => {
    const path = "/assets/main-abc.js";
    const packed = await ask(path, { headers: { "accept-encoding": "gzip, br" } });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(String(gunzipSync(packed.body))).toBe(SCRIPT);
    const plain = await ask(path);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(String(plain.body)).toBe(SCRIPT);
  });

  test("asks for the head alone", async () => {
    const head = await ask("/assets/main-abc.js", { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.headers["content-length"]).toBe(String(SCRIPT.length));
    expect(head.body.length).toBe(0);
  });
});

test("a server whose dashboard is not built answers that, and how to build it", async () => {
  const of = await startWorld({ dashboard: join(folder, "not-there") });
  try {
    const { status, body } = await ask("/", { of });
    expect(status).toBe(503);
    expect(String(body)).toContain("npm run dashboard");
    expect((await ask("/healthz", { of })).status).toBe(200);
  } finally {
    await of.close();
  }
});

describe("signing in", () => {
  const issuer = "https://login.example.com/realms/ops";
  const provider = { issuer, audience: "drover" };

  async function signInOf(oidc: Parameters<typeof oidcConfig>[0] | null) {
    const identities = { ...NO_IDENTITIES, oidc: oidc && oidcConfig(oidc) };
    const config = { requireTokens: true, identities };
    const of = await startWorld({ dashboard: folder, config });
    try {
      const { status, headers, body } = await ask("/sign-in.json", { of });
      const page = await ask("/", { of });
      const policy = String(page.headers["content-security-policy"]);
      const [callable] = policy.split("; ").filter((rule) => rule.startsWith("connect-src"));
      return { status, type: headers["content-type"], read: JSON.parse(String(body)), callable };
    } finally {
      await of.close();
    }
  }
  const answered = { status: 200, type: "application/json" };

  test("takes the provider and the client, which are read without a token", async () => {
    expect(await signInOf({ ...provider, clientId: "drover-dashboard" })).toEqual({
      ...answered,
      read: {
        issuer,
        clientId: "drover-dashboard",
        scope: "openid profile email",
        nameClaim: "",
      },
      callable: "connect-src 'self' https://login.example.com",
    });
  });

  test("is not offered without both of them", async () => {
    const nothing = { ...answered, read: {}, callable: "connect-src 'self'" };
    expect(await signInOf(provider)).toEqual(nothing);
    expect(await signInOf(null)).toEqual(nothing);
  });
});
