// Ports for servers of other products, which need theirs as an option.
import { createServer } from "node:net";

const FIRST_PORT = 21_000;

/** Below those that systems give out; Temporal's own table holds no port above 32,767. */
export async function freePorts(
  names: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const free: Record<string, string> = {};
  let port = FIRST_PORT;
  for (const name of names) {
    while (!(await isFree(port))) port++;
    free[name] = String(port++);
  }
  return free;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
