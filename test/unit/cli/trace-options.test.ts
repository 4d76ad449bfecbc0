/** Where traces go, as the command line and OpenTelemetry's environment set it. */
import { expect, test } from "vitest";
import { traceOf } from "../../../cli/trace-options.ts";

test("nothing is traced unless a destination is configured", () => {
  expect(traceOf({}, {})).toBeUndefined();
  expect(traceOf({ traceShare: 0.5 }, { OTEL_SERVICE_NAME: "drover" })).toBeUndefined();
});

test("a receiver is named by its origin, and the path of OTLP over HTTP is added", () => {
  const url = "http://127.0.0.1:4318/v1/traces";
  const whole = { url, protocol: "http", ratio: 1 };
  expect(traceOf({ trace: "http://127.0.0.1:4318" }, {})).toEqual(whole);
  expect(traceOf({ trace: url }, {})).toEqual(whole);
  expect(traceOf({}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/" })).toEqual(whole);
});

test("OTLP over gRPC is asked for by the scheme, or by the environment", () => {
  const grpc = { url: "http://jaeger:4317", protocol: "grpc", ratio: 1 };
  expect(traceOf({ trace: "grpc://jaeger:4317" }, {})).toEqual(grpc);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://jaeger:4317",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  };
  expect(traceOf({}, env)).toEqual(grpc);
  expect(traceOf({ trace: "grpcs://jaeger:4317" }, {})?.url).toBe("https://jaeger:4317");
});

test("the share is the option's, else the sampler's of the environment", () => {
  const trace = "http://127.0.0.1:4318";
  const env = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
  expect(traceOf({ trace }, env)?.ratio).toBe(0.25);
  expect(traceOf({ trace, traceShare: 0.5 }, env)?.ratio).toBe(0.5);
  expect(traceOf({ trace }, { OTEL_TRACES_SAMPLER: "always_off" })?.ratio).toBe(0);
});

test("an environment that switches OpenTelemetry off is obeyed; an option overrides it", () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_SDK_DISABLED: "true" };
  expect(traceOf({}, env)).toBeUndefined();
  expect(traceOf({}, { ...env, OTEL_SDK_DISABLED: "", OTEL_TRACES_EXPORTER: "none" })).toBe(
    undefined,
  );
  expect(traceOf({ trace: "http://127.0.0.1:4318" }, env)).toBeDefined();
});

test("what is no receiver is refused, with what to write instead", () => {
  for (const trace of ["jaeger", "jaeger:4318", "ftp://jaeger"])
    expect(() => traceOf({ trace }, {})).toThrow(`"${trace}" is not a receiver of traces`);
});
