// Answers that grpc-js gives by itself, before a call reaches its handler. It blames the server for
// bytes that the caller got wrong (INTERNAL), or says that a method is not there (UNIMPLEMENTED).
// They become the answers that the other transports give to the same bytes.
import { Metadata, type ServerInterceptor, status as Status } from "@grpc/grpc-js";
import { DroverError } from "../../errors.ts";
import { answerOf, refusal, type StandardError, statusBytes } from "../calls/errors.ts";
import { messageTooLarge } from "./decode.ts";

const STATUS_DETAILS = "grpc-status-details-bin";

/** As grpc-js 1.14 words them. */
const CORRUPT = "Failed to decompress message";
const NO_MESSAGE = "Received no request message";
const SECOND_MESSAGE = "Received a second request message";
const BAD_TIMEOUT = "Invalid grpc-timeout value";
const TOO_LARGE = /^Received message (larger than max|that decompresses to a size larger)/;

/**
 * Replaces the method by which grpc-js ends a call. Wrapping the call, as interceptors usually do,
 * would cost each call several objects.
 */
export function ownAnswers(messageBytesMax: number): ServerInterceptor {
  return (_, call) => {
    const { sendStatus } = call;
    call.sendStatus = (status) => {
      const error = status.code === Status.OK ? null : errorOf(status, messageBytesMax);
      sendStatus.call(call, error === null ? status : grpcError(error));
    };
    // grpc-js asks for the class of the usual wrapper, and uses its interface alone.
    return call as ReturnType<ServerInterceptor>;
  };
}

type Ended = Parameters<Parameters<ServerInterceptor>[1]["sendStatus"]>[0];

/** null: the answer stays as it is. */
function errorOf({ code, details, metadata }: Ended, messageBytesMax: number): DroverError | null {
  // Answers of a handler have details of Drover.
  if (details === undefined || (metadata && metadata.get(STATUS_DETAILS).length > 0)) return null;
  switch (code) {
    case Status.INTERNAL:
      if (details === CORRUPT) return malformed("The message is not compressed as its header says");
      return details.startsWith(BAD_TIMEOUT) ? badTimeout() : null;
    case Status.UNIMPLEMENTED:
      if (details.startsWith(NO_MESSAGE))
        return malformed("The call ended without a whole message");
      return details.startsWith(SECOND_MESSAGE)
        ? malformed("The call has a second message, and takes one")
        : null;
    case Status.RESOURCE_EXHAUSTED:
      return TOO_LARGE.test(details) ? messageTooLarge(messageBytesMax) : null;
    default:
      return null;
  }
}

function malformed(what: string): DroverError {
  return new DroverError("MALFORMED_MESSAGE", `${what}: see how the client writes it.`);
}

function badTimeout(): DroverError {
  const message = "is not one to eight digits and one of H, M, S, m, u, n";
  return refusal("INVALID_REQUEST", [{ path: "header grpc-timeout", message }]);
}

export function grpcError(error: DroverError | StandardError) {
  const { code, message } = answerOf(error);
  const metadata = new Metadata();
  metadata.set(STATUS_DETAILS, Buffer.from(statusBytes(error)));
  return { code, details: message, metadata, name: "Error", message };
}
