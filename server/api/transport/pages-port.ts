// A port that serves pages only, for a process that takes no calls: probes ask it for its health.
import { once } from "node:events";
import { createServer } from "node:http";
import { type Pages, servePage } from "./pages.ts";

interface PagesPort {
  /** Resolves to the address on which it listens. */
  start(): Promise<{ readonly host: string; readonly port: number }>;
  stop(): Promise<void>;
}

export function createPagesPort(
  pages: Pages,
  at: { readonly host: string; readonly port: number },
): PagesPort {
  const server = createServer((request, response) => servePage(pages, request, response));
  return Object.freeze({
    async start() {
      server.listen(at.port, at.host);
      await once(server, "listening");
      const bound = server.address();
      if (bound === null || typeof bound === "string") throw new Error("the port has no address");
      return { host: at.host, port: bound.port };
    },
    async stop() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  });
}
