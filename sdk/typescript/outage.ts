/**
 * The warning of a client whose calls fail and are repeated: one from the first failure to the next
 * answer, however many calls wait meanwhile.
 */
import type { DroverCallError } from "./call-error.ts";
import type { Logger } from "./logger.ts";

export interface Outage {
  /** A call failed, and is repeated. */
  failed(error: DroverCallError): void;
  answered(): void;
}

export function createOutage(log: Logger, patienceMs: number): Outage {
  let isKnown = false;
  return Object.freeze({
    failed({ code, reason, message }: DroverCallError): void {
      if (isKnown) return;
      isKnown = true;
      const text = `call failed, will be repeated for up to ${patienceMs} ms: ${message}`;
      log.warn({ code, reason }, text);
    },
    answered(): void {
      isKnown = false;
    },
  });
}
