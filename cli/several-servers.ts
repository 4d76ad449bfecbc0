/**
 * Calls to one of several servers: to the same one until a call does not reach it, and then to
 * another one that answers.
 */
import type {
  DescMessage,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, type Transport } from "@connectrpc/connect";

export interface SeveralServers {
  /** The URL of a server that answers. */
  readonly choose: () => Promise<string>;
  readonly open: (url: string) => Transport;
}

export function transportToOneOf({ choose, open }: SeveralServers): Transport {
  let current: Promise<Transport> | null = null;

  /** A call that fails is not repeated here: only its caller knows whether it may be. */
  async function at<T>(call: (transport: Transport) => Promise<T>): Promise<T> {
    current ??= choose().then(open);
    try {
      return await call(await current);
    } catch (error) {
      if (isUnreachable(error)) current = null;
      throw error;
    }
  }

  return Object.freeze({
    unary: <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: Parameters<Transport["unary"]>[3],
      input: MessageInitShape<I>,
      values?: ContextValues,
    ) => at((to) => to.unary(method, signal, timeoutMs, header, input, values)),
    stream: <I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: Parameters<Transport["unary"]>[3],
      input: AsyncIterable<MessageInitShape<I>>,
      values?: ContextValues,
    ) => at((to) => to.stream(method, signal, timeoutMs, header, input, values)),
  });
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  return error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
}
