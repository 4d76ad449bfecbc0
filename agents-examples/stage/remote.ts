/**
 * The client of a remote service: one call, which ends with its body or with an error of the SDK
 * that states what is known of its effect. It retries nothing; the caller decides whether to retry.
 *
 *   2xx                    the body
 *   429, 503               TransientError rate-limited: no effect; it has the time of a retry
 *   other 4xx              PermanentError with the service's code: it did nothing, and never will
 *   broken, no answer      UnknownError network, timed-out: it may have done it
 */
import { PermanentError, TransientError, UnknownError } from "@drover/sdk";

export type Body = Readonly<Record<string, unknown>>;

export interface RemoteCall {
  readonly key: string;
  /** With the `ref` for which it is done. */
  readonly body: Body;
  readonly signal?: AbortSignal;
}

export type Remote = (path: string, call: RemoteCall) => Promise<Body>;

export interface RemoteOptions {
  readonly url: string;
  /** For one call, to the last byte of its answer. */
  readonly timeoutMs?: number;
}

export function createRemote({ url, timeoutMs = 2_000 }: RemoteOptions): Remote {
  return async (path, { key, body, signal }) => {
    const late = AbortSignal.timeout(timeoutMs);
    const ending = signal === undefined ? late : AbortSignal.any([signal, late]);
    let response: Response;
    let answer: Body;
    try {
      response = await fetch(`${url}/${path}`, {
        method: "POST",
        headers: { "idempotency-key": key },
        body: JSON.stringify(body),
        signal: ending,
      });
      answer = Object(await response.json());
    } catch (error) {
      signal?.throwIfAborted();
      if (late.aborted) throw new UnknownError("timed-out", `no answer within ${timeoutMs} ms`);
      throw new UnknownError("network", networkText(error), { cause: error });
    }
    if (response.ok) return answer;
    throw meaning(response, answer);
  };
}

function meaning({ status, headers }: Response, answer: Body): Error {
  const message = String(answer.message ?? `answered ${status}`);
  if (status === 429 || status === 503) {
    const retryAfter = Number(headers.get("retry-after-ms") ?? 1_000);
    return new TransientError("rate-limited", message, { retryAfter });
  }
  if (status < 500) return new PermanentError(String(answer.code ?? `http-${status}`), message);
  return new UnknownError(`http-${status}`, message);
}

/** fetch wraps what happened to the socket into the cause of a "fetch failed". */
function networkText(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
