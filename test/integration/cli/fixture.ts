// What the tests of commands share: a server that answers by script, and drover as it calls it.
import { afterAll, beforeAll } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import type { DroverOptions, Ended } from "../../support/drover-process.ts";
import {
  type FakeScheduler,
  type Script,
  startFakeScheduler,
} from "../../support/fake-scheduler.ts";

export interface ScriptedServer {
  /** As `--address` takes it. */
  readonly address: string;
  /** From now on; each test begins with one. */
  play(script: Script): void;
  /** The command, with this server as the one that it calls. */
  drover(args: readonly string[], options?: DroverOptions): Promise<Ended>;
}

/** For the tests of one file: up before the first of them, down after the last. */
export function scriptedServer(): ScriptedServer {
  let server: FakeScheduler;
  beforeAll(async () => {
    server = await startFakeScheduler();
  });
  afterAll(() => server?.stop());
  return {
    get address() {
      return server.address;
    },
    play: (script) => server.play(script),
    drover: (args, options = {}) =>
      callDrover(args, { ...options, env: { DROVER_ADDRESS: server.address, ...options.env } }),
  };
}
