/**
 * The receiver of traces: `--trace http://127.0.0.1:4318`, DROVER_TRACE, or the variables of
 * OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT and the like), in this order. Without one, traces are
 * off. And the links to these traces: `--trace-link` or DROVER_TRACE_LINK.
 */
import { traceLinkProblem } from "@drover/server/api/run/trace-link.ts";
import { type TraceConfig, traceReceiver } from "@drover/server/config.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CliFailure, exitCodes } from "./failure.ts";

export interface TraceOptions {
  readonly trace?: string;
  readonly traceShare?: number;
}

export interface TraceLinkOptions {
  readonly traceLink?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function addTraceOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--trace <url>",
        "send the traces of runs to this OTLP receiver: http://HOST:4318, or grpc://HOST:4317",
      ).env("DROVER_TRACE"),
    )
    .addOption(
      new Option("--trace-share <number>", "the share of the runs that is traced (default 1)")
        .env("DROVER_TRACE_SHARE")
        .argParser(parseShare),
    );
}

export function addTraceLinkOption(command: Command): Command {
  return command.addOption(
    new Option(
      "--trace-link <url>",
      "link from a run to its trace, such as http://HOST:16686/trace/{trace_id}",
    ).env("DROVER_TRACE_LINK"),
  );
}

/** undefined: there are no links. Throws CliFailure for a template that leads to no trace. */
export function traceLinkOf({ traceLink = "" }: TraceLinkOptions): string | undefined {
  if (traceLink === "") return undefined;
  const problem = traceLinkProblem(traceLink);
  if (problem === null) return traceLink;
  throw new CliFailure(`the trace link "${traceLink}" ${problem}`, {
    code: exitCodes.usage,
    next: "write it as http://HOST:16686/trace/{trace_id}",
  });
}

/** undefined: traces are off. Throws CliFailure for an invalid receiver. */
export function traceOf(
  { trace, traceShare }: TraceOptions,
  env: Environment = process.env,
): TraceConfig | undefined {
  const off = env.OTEL_SDK_DISABLED === "true" || env.OTEL_TRACES_EXPORTER === "none";
  const given = trace ?? (off ? undefined : endpointOf(env));
  if (given === undefined || given === "") return undefined;
  return { ...receiverOf(given, env), ratio: traceShare ?? shareOf(env) };
}

function endpointOf(env: Environment): string | undefined {
  return env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
}

function receiverOf(given: string, env: Environment): Pick<TraceConfig, "url" | "protocol"> {
  const receiver = traceReceiver(given);
  if (!receiver)
    throw new CliFailure(`"${given}" is not a receiver of traces`, {
      code: exitCodes.usage,
      next: "write http://HOST:4318 for OTLP over HTTP, grpc://HOST:4317 for OTLP over gRPC",
    });
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol !== "grpc") return receiver;
  return { url: new URL(receiver.url).origin, protocol };
}

/** The share in OTEL_TRACES_SAMPLER; by default all runs. */
function shareOf({ OTEL_TRACES_SAMPLER: sampler = "", OTEL_TRACES_SAMPLER_ARG: arg }: Environment) {
  if (sampler.endsWith("always_off")) return 0;
  const share = Number(arg ?? 1);
  return sampler.endsWith("traceidratio") && share >= 0 && share <= 1 ? share : 1;
}

function parseShare(text: string): number {
  const share = Number(text);
  if (text.trim() === "" || !(share >= 0 && share <= 1))
    throw new InvalidArgumentError("A share is a number from 0 to 1.");
  return share;
}
