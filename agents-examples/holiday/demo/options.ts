/** What can be set on the command line of the demo. */
import { parseArgs } from "node:util";

export const usage = `usage: npm run demo -- [options]
  --seed N        seed of the faults of the remote services (default 1)
  --naive         the same services and faults, called by a plain sequential program
  --json FILE     write runs, ledgers and interventions there
  --keep          leave everything running after the summary, until Ctrl-C, and print the address
                  of the dashboard
  --trace URL     send the traces of server and agents to this receiver of OTLP over HTTP, such as
                  Jaeger at http://127.0.0.1:4318
  --data-dir DIR  store database, ledgers and logs there; DIR must be new or empty
                  (default: a fresh temporary folder, removed at the end)`;

export interface Options {
  readonly seed: number;
  readonly naive: boolean;
  readonly json: string | null;
  readonly keep: boolean;
  readonly dataDir: string | null;
  /** Origin of a receiver of OTLP over HTTP; null: nothing is traced. */
  readonly trace: string | null;
}

/** Throws for arguments that it does not know; null when only the usage is wanted. */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string", default: "1" },
      naive: { type: "boolean", default: false },
      json: { type: "string" },
      keep: { type: "boolean", default: false },
      "data-dir": { type: "string" },
      trace: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return null;
  if (!/^\d{1,9}$/.test(values.seed)) {
    throw new Error(`--seed is ${values.seed}; give a whole number of up to 9 digits`);
  }
  if (values.trace !== undefined && !/^https?:\/\/[^/\s]+$/.test(values.trace)) {
    throw new Error(`--trace is ${values.trace}; give the origin of a receiver, http://HOST:4318`);
  }
  return {
    seed: Number(values.seed),
    naive: values.naive,
    json: values.json ?? null,
    keep: values.keep,
    dataDir: values["data-dir"] ?? null,
    trace: values.trace ?? null,
  };
}
