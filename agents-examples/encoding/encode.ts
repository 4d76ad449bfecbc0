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
/** An encoder does not outlive who has started it. */
const preload = new URL("../stage/end-with-parent.ts", import.meta.url).href;

export function startEncoder(
  { film, chunk, preset, seed }: Chunk,
  signal: AbortSignal,
  onPercent: (percent: number) => void,
): Encoder {
  const isStuck = filmOf(seed).stuckChunk === chunk && preset === "fast";
  const stuck = isStuck ? ["--stuck-at", String(stuckAt)] : [];
  const words = ["--chunk", `${film}/${chunk}`, "--preset", preset, ...stuck];
  const child = spawn(process.execPath, ["--import", preload, program, ...words], {
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
      const [word, checksum] = line.split(" ");
      if (word === "checksum" && checksum !== undefined) return checksum;
      onPercent(Number(word));
    }
    signal.throwIfAborted();
    throw new Error(`the encoder ended without a checksum: ${await ended}`);
  }

  return { checksum: read(), ended };
}
