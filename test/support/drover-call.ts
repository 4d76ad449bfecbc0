/**
 * The drover command within this process, for what it prints and how it ends: a process of its own
 * takes a third of a second of CPU before it acts. What only a process has (signals, a terminal, a
 * pipe to read from, a start) is tested with drover-process.ts.
 */
import { run } from "../../cli/main.ts";
import { createProgram } from "../../cli/program.ts";
import { type DroverOptions, drover, type Ended } from "./drover-process.ts";

// All verbs are loaded here: later it would stall a server that the test has in this process.
await createProgram("0", () => undefined);

let before: Promise<unknown> = Promise.resolve();

/** One at a time, as folder, environment and output are the process's. */
export function callDrover(args: readonly string[], options: DroverOptions = {}): Promise<Ended> {
  const needsProcess = options.stdin || options.nodeOptions || args.includes("-");
  if (needsProcess) return drover(args, options);
  const call = before.then(() => callNow(args, options));
  before = call.catch(() => undefined);
  return call;
}

async function callNow(
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: DroverOptions,
): Promise<Ended> {
  const own = { env: process.env, cwd: process.cwd() };
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  let code = 0;
  try {
    process.env = { ...env };
    process.chdir(cwd);
    await run(args, (given) => {
      code = given;
    });
  } finally {
    process.chdir(own.cwd);
    process.env = own.env;
    stdout.release();
    stderr.release();
  }
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function capture(stream: NodeJS.WriteStream) {
  const { write } = stream;
  let text = "";
  stream.write = (chunk: string | Uint8Array) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    return true;
  };
  return {
    text: () => text,
    release() {
      stream.write = write;
    },
  };
}
