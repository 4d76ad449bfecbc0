/** One chunk in an encoder process, which is killed when the signal is aborted. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { filmOf, stuckAt } from "./film.ts";

export interface Chunk {
  readonly film: string;
  readonly chunk: number;
  readonly preset: string;
  readonly seed: number;
}

export interface Encoder {
  /** Rejects when the encoder ends without one. */
  readonly checksum: Promise<string>;
  /** `exit 0`, `SIGKILL`. */
  readonly ended: Promise<string>;
}

const program = fileURLToPath(new URL("./encoder.ts", import.meta.url));
/** Loaded first: the encoder ends when the process that started it has ended. */
const preload = new URL("../stage/end-with-parent.ts", import.meta.url).href;

export function startEncoder(
  { film, chunk, preset, seed }: Chunk,
  signal: AbortSignal,
  onPercent: (percent: number) => void,
): Encoder {
  const isStuck = filmOf(seed).stuckChunk === chunk && preset === "fast";
  const stuck = isStuck ? ["--stuck-at", String(stuckAt)] : [];
  const args = ["--chunk", `${film}/${chunk}`, "--preset", preset, ...stuck];
  const child = spawn(process.execPath, ["--import", preload, program, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    signal,
    killSignal: "SIGKILL",
  });
  // The abort is reported here as well; the exit shows how it ended.
  child.on("error", () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, by) => resolve(by ?? `exit ${code}`));
  });

  async function read(): Promise<string> {
    for await (const line of createInterface({ input: child.stdout })) {
      const [first, checksum] = line.split(" ");
      if (first === "checksum" && checksum !== undefined) return checksum;
      onPercent(Number(first));
    }
    signal.throwIfAborted();
    throw new Error(`the encoder ended without a checksum: ${await ended}`);
  }

  return { checksum: read(), ended };
}
