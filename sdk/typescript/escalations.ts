/**
 * Escalations: questions that only a person can answer, and their answers.
 *
 * An escalation is named by its run and its number within it.
 */

import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import { type Call, type CallControl, present } from "./call.ts";
import { DroverCallError } from "./call-error.ts";
import { type Codec, encoded } from "./codec.ts";
import { type Attempt, type Escalation, readAttempt, readEscalation } from "./run-history.ts";
import { type RunName, toRef } from "./run-name.ts";
import { type Run, readRun, readStep, type Step } from "./runs.ts";

export interface ListEscalationsSpec extends CallControl {
  /** Include closed ones. Default: only open ones. */
  readonly includeClosed?: boolean;
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface EscalationPage {
  /** Those of the newest runs first; without `answers`, which `get` returns. */
  readonly escalations: readonly Escalation[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** An escalation with its history. */
export interface EscalationDetails {
  /** With the answers that it accepts now. */
  readonly escalation: Escalation;
  readonly run: Run;
  /** null: the escalation concerns the run as a whole. */
  readonly step: Step | null;
  /** Every hand-out of a task of that step, oldest first. */
  readonly attempts: readonly Attempt[];
  /** The key by which the remote service knows the effect; empty: no task was handed out. */
  readonly effectKey: string;
}

export interface ResolveSpec extends CallControl {
  /** One of the escalation's `answers`. */
  readonly answer: /** Try the step again. */
    | "retry"
    /** Try the step again, with `payload` as its input. */
    | "retry-changed"
    /** The step is done, with `payload` as its output. */
    | "succeed"
    /** Skip the step and continue. */
    | "skip"
    /** Undo the run. */
    | "compensate"
    /** The run fails, and what was done stays. */
    | "fail"
    /** The person knows, and nothing is to be done. */
    | "acknowledge";
  /** Who answers, as the caller states it; the server does not verify it. */
  readonly by: string;
  /** Why, for later readers. */
  readonly why?: string;
  /** With `retry-changed` the whole input, with `succeed` the output: JSON, or a Payload. */
  readonly payload?: unknown;
}

export interface ClaimSpec extends CallControl {
  /** Who, as the caller states it; the server does not verify it. */
  readonly by: string;
  /**
   * Although another person has claimed it. Default false: then it is refused as
   * ESCALATION_CLAIMED.
   */
  readonly anyway?: boolean;
}

export interface Resolved {
  readonly escalation: Escalation;
  readonly run: Run;
  /** The same answer was given before. */
  readonly repeated: boolean;
}

export interface Escalations {
  list(options?: ListEscalationsSpec): Promise<EscalationPage>;
  get(run: RunName, id: string, options?: CallControl): Promise<EscalationDetails>;
  resolve(run: RunName, id: string, answer: ResolveSpec): Promise<Resolved>;
  /** Records that a person works on it; other people may still answer it. */
  claim(run: RunName, id: string, claim: ClaimSpec): Promise<Escalation>;
  /** Takes the claim back. */
  release(run: RunName, id: string, claim: ClaimSpec): Promise<Escalation>;
}

const rpc = OperatorService.method;

export function createEscalations(call: Call, namespace: string, codec: Codec): Escalations {
  return Object.freeze({
    async list(spec: ListEscalationsSpec = {}): Promise<EscalationPage> {
      const { includeClosed = false, pageSize = 0, pageToken = "", signal } = spec;
      const request = { namespace, includeClosed, pageSize, pageToken };
      const answer = await call(rpc.listEscalations, request, { signal });
      const escalations = answer.escalations.map(readEscalation);
      return { escalations, nextPageToken: answer.nextPageToken };
    },

    async get(run: RunName, id: string, { signal }: CallControl = {}): Promise<EscalationDetails> {
      const request = { namespace, run: toRef(run), escalationId: id };
      const answer = await call(rpc.getEscalation, request, { signal });
      return {
        escalation: readEscalation(asked(answer.escalation)),
        run: readRun(present(answer.run)),
        step: answer.step === undefined ? null : readStep(answer.step),
        attempts: answer.attempts.map(readAttempt),
        effectKey: answer.effectKey,
      };
    },

    async resolve(run: RunName, id: string, spec: ResolveSpec): Promise<Resolved> {
      const { answer: given, by, why = "", signal } = spec;
      const payload = encoded(spec.payload, codec);
      const words = { answer: given, by, why, ...(payload && { payload }) };
      const request = { namespace, run: toRef(run), escalationId: id, ...words };
      const answer = await call(rpc.resolveEscalation, request, { signal });
      return {
        escalation: readEscalation(asked(answer.escalation)),
        run: readRun(present(answer.run)),
        repeated: answer.repeated,
      };
    },

    async claim(run: RunName, id: string, spec: ClaimSpec): Promise<Escalation> {
      const request = { namespace, ...toClaim(run, id, spec) };
      const { escalation } = await call(rpc.claimEscalation, request, { signal: spec.signal });
      return readEscalation(asked(escalation));
    },

    async release(run: RunName, id: string, spec: ClaimSpec): Promise<Escalation> {
      const request = { namespace, ...toClaim(run, id, spec) };
      const { escalation } = await call(rpc.releaseEscalation, request, { signal: spec.signal });
      return readEscalation(asked(escalation));
    },
  });
}

function toClaim(run: RunName, escalationId: string, { by, anyway = false }: ClaimSpec) {
  return { run: toRef(run), escalationId, by, anyway };
}

/** The server always sends the requested escalation. */
function asked(escalation: wire.Escalation | undefined): wire.Escalation {
  if (escalation !== undefined) return escalation;
  throw new DroverCallError("INTERNAL", "The server answered without an escalation.");
}
