/**
 * Questions that only a person may answer, and their answers.
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
  /** Closed ones too. Default: those that stand open. */
  readonly includeClosed?: boolean;
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface EscalationPage {
  /** Of the newest runs first; without `answers`, which `get` has. */
  readonly escalations: readonly Escalation[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** An escalation with what led to it. */
export interface EscalationDetails {
  /** With the answers that it takes now. */
  readonly escalation: Escalation;
  readonly run: Run;
  /** null: it concerns the run as a whole. */
  readonly step: Step | null;
  /** Every hand-out of a task of that step, oldest first. */
  readonly attempts: readonly Attempt[];
  /** By which the remote service knows the effect that it is about; empty: nobody had a task. */
  readonly effectKey: string;
}

export interface ResolveSpec extends CallControl {
  /** One of the escalation's `answers`. */
  readonly answer: /** Try it anew. */
    | "retry"
    /** Try it anew, with `payload` as its input. */
    | "retry-changed"
    /** It is done, with `payload` as its output. */
    | "succeed"
    /** Go on as if it were not needed. */
    | "skip"
    /** Undo the run. */
    | "compensate"
    /** The run fails, and what was done stays. */
    | "fail"
    /** It is known, and nothing is to be done. */
    | "acknowledge";
  /** Who answers, as you state it; nothing verifies it. */
  readonly by: string;
  /** Why, for those who read it later. */
  readonly why?: string;
  /** With `retry-changed` the whole input, with `succeed` the output: JSON, or a Payload. */
  readonly payload?: unknown;
}

export interface ClaimSpec extends CallControl {
  /** Who, as you state it; nothing verifies it. */
  readonly by: string;
  /** Although another has it. Default false: that is refused as ESCALATION_CLAIMED. */
  readonly anyway?: boolean;
}

export interface Resolved {
  readonly escalation: Escalation;
  readonly run: Run;
  /** The same had been answered before. */
  readonly repeated: boolean;
}

export interface Escalations {
  list(options?: ListEscalationsSpec): Promise<EscalationPage>;
  get(run: RunName, id: string, options?: CallControl): Promise<EscalationDetails>;
  resolve(run: RunName, id: string, answer: ResolveSpec): Promise<Resolved>;
  /** Says that a person looks after it; it binds nobody who answers. */
  claim(run: RunName, id: string, claim: ClaimSpec): Promise<Escalation>;
  /** Says that he no longer does. */
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
      const { answer: said, by, why = "", signal } = spec;
      const payload = encoded(spec.payload, codec);
      const words = { answer: said, by, why, ...(payload && { payload }) };
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

/** The server always sends the escalation that it was asked for. */
function asked(escalation: wire.Escalation | undefined): wire.Escalation {
  if (escalation !== undefined) return escalation;
  throw new DroverCallError("INTERNAL", "The server answered without an escalation.");
}
