/**
 * Codecs of payloads between a program and the wire: encryption, compression, or none. With a codec
 * the server passes on payloads that it cannot read, so expressions and schemas of a workflow must
 * not use their content. Payloads that the server must read are not encoded: definitions, triggers,
 * and the forms of decisions.
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import { bytes, toPayload } from "./payload.ts";

export interface Codec {
  /** From the payload of a program to the payload to send. Errors are thrown to the program. */
  encode(payload: Payload): Payload;
  /**
   * From a received payload to the payload for the program. A payload that this codec did not make
   * is returned unchanged.
   */
  decode(payload: Payload): Payload;
}

const sealedType = "application/x-drover-aes-gcm";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts payloads with AES-256-GCM, in the same format in every SDK: 12 bytes of nonce, the
 * message Payload, 16 bytes of tag. `key` has 32 bytes; give it to agents and callers, never to the
 * server.
 *
 * The nonce is derived from key and payload, so the same input under the same key of a run is the
 * same request, also from a restarted caller. An observer of two payloads learns whether they are
 * equal, and nothing else.
 */
export function aesGcmCodec(key: Uint8Array): Codec {
  if (key.length !== keyBytes)
    throw new RangeError(`The key has ${key.length} bytes; AES-256 takes ${keyBytes}.`);
  const nonceKey = hmac(key, "drover nonce");
  return Object.freeze({
    encode(payload: Payload): Payload {
      const clear = toBinary(PayloadSchema, payload);
      const nonce = hmac(nonceKey, clear).subarray(0, nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const sealed = [nonce, cipher.update(clear), cipher.final()];
      return bytes(Buffer.concat([...sealed, cipher.getAuthTag()]), sealedType);
    },
    decode(payload: Payload): Payload {
      if (payload.contentType !== sealedType || payload.body.case !== "data") return payload;
      return fromBinary(PayloadSchema, opened(payload.body.value, key));
    },
  });
}

function hmac(key: Uint8Array, of: Uint8Array | string): Buffer {
  return createHmac("sha256", key).update(of).digest();
}

function opened(sealed: Uint8Array, key: Uint8Array): Buffer {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const text = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([text, decipher.final()]);
  } catch (cause) {
    throw new Error("A payload cannot be opened with the key that is given.", { cause });
  }
}

/** The payload to send for a value; undefined is none. */
export function encoded(value: unknown, codec: Codec): Payload | undefined {
  const payload = toPayload(value);
  return payload && codec.encode(payload);
}

/** No codec: payloads are sent unchanged. */
export const noCodec: Codec = Object.freeze({
  encode: (payload: Payload) => payload,
  decode: (payload: Payload) => payload,
});
