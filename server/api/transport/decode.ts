// Bytes to a request. A decoding error is returned as an answer for the caller, not thrown at the
// transport: grpc-js would hide an exception behind INTERNAL.
import {
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type Message,
} from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "@drover/proto/google/rpc/error_details_pb.ts";
import { DroverError, errorMessage } from "../../errors.ts";
import { JSON_DEPTH_MAX } from "./json-depth.ts";

export type Decoded =
  | { readonly kind: "request"; readonly message: Message }
  | { readonly kind: "malformed"; readonly error: DroverError };

/**
 * A JSON request with names that the contract does not have is refused: a person has mistyped them,
 * or a program asks for what this server would not do.
 */
export const JSON_OPTIONS = Object.freeze({
  ignoreUnknownFields: false,
  // An item's status contains its details as google.protobuf.Any.
  registry: createRegistry(file_google_rpc_error_details),
});

export function decodeBinary(desc: DescMessage, bytes: Uint8Array): Decoded {
  return decode(desc, () => fromBinary(desc, bytes));
}

export function decodeJson(desc: DescMessage, bytes: Uint8Array): Decoded {
  return decode(desc, () => fromJsonString(desc, new TextDecoder().decode(bytes), JSON_OPTIONS));
}

function decode(desc: DescMessage, read: () => Message): Decoded {
  try {
    return { kind: "request", message: read() };
  } catch (cause) {
    const message = `The bytes are no ${desc.typeName} (${errorMessage(cause)}): compare the contracts of both sides.`;
    return { kind: "malformed", error: new DroverError("MALFORMED_MESSAGE", message, { cause }) };
  }
}

export function messageTooDeep(): DroverError {
  return new DroverError(
    "MALFORMED_MESSAGE",
    `The message is JSON that is nested deeper than ${JSON_DEPTH_MAX}: no call needs that much.`,
  );
}

export function messageTooLarge(bytesMax: number): DroverError {
  return new DroverError(
    "MESSAGE_TOO_LARGE",
    `The message has more than ${bytesMax} bytes: split the call, or send less.`,
    { metadata: { limit_bytes: String(bytesMax) } },
  );
}
