// A folder of files over HTTP, as any host of static files serves it: `/x` is x.html, and what is
// not there is 404.html.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

export interface StaticSite {
  /** HOST:PORT. */
  readonly address: string;
  close(): Promise<void>;
}

export async function serveFolder(folder: string): Promise<StaticSite> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    void answerOf(folder, decodeURIComponent(pathname)).then(({ status, file, body }) => {
      response.writeHead(status, { "content-type": TYPES[extname(file)] ?? "text/plain" });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    address: `127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answerOf(folder: string, path: string) {
  const plain = normalize(path);
  const name = plain.endsWith("/")
    ? `${plain}index.html`
    : extname(plain)
      ? plain
      : `${plain}.html`;
  for (const [status, file] of [[200, name] as const, [404, "404.html"] as const]) {
    const body = await readFile(join(folder, file)).catch(() => null);
    if (body !== null) return { status, file, body };
  }
  return { status: 404, file: "", body: "nothing here" };
}
