/** A channel on which payloads come as the codec makes them clear, wherever an answer has them. */
import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import type { CallOptions, Channel } from "./channel.ts";
import { type Codec, noCodec } from "./codec.ts";

/** What the codec throws ends the call. */
export function clearChannel(channel: Channel, codec: Codec): Channel {
  if (codec === noCodec) return channel;

  function cleared<T extends DescMessage>(schema: T, message: MessageShape<T>): MessageShape<T> {
    clear(reflect(schema, message), codec);
    return message;
  }

  return Object.freeze({
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageInitShape<I>,
      options: CallOptions,
    ): Promise<MessageShape<O>> {
      return cleared(method.output, await channel.unary(method, request, options));
    },

    async *stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodServerStreaming<I, O>,
      request: MessageInitShape<I>,
      signal?: AbortSignal,
    ): AsyncGenerator<MessageShape<O>, void, undefined> {
      for await (const message of channel.stream(method, request, signal))
        yield cleared(method.output, message);
    },

    close: channel.close,
  });
}

/** Changes the message itself: it was made for this answer alone. */
function clear(message: ReflectMessage, codec: Codec): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "list") {
      for (const item of message.get(field)) if (isReflectMessage(item)) clear(item, codec);
    } else if (field.fieldKind === "message") {
      const within = message.get(field);
      const payload = within.message;
      if (isMessage(payload, PayloadSchema))
        message.set(field, reflect(PayloadSchema, codec.decode(payload)));
      else clear(within, codec);
    }
  }
}
