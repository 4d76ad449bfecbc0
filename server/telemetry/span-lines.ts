// The log lines about runs: one line for each span that has ended, with the span's name in the
// catalogue, so that traces and logs describe the same things in the same words.
import type { Logger } from "pino";
import type { SpanData } from "./spans.ts";

/** The level of these lines: a run of three steps is about ten lines. */
const LEVEL = "info";

/** null: the log does not show them. `traced`: the ids lead to a trace. */
export function spanLines(
  log: Logger,
): ((spans: readonly SpanData[], traced: object | null) => void) | null {
  if (!log.isLevelEnabled(LEVEL)) return null;
  return (spans, traced) => {
    for (const span of spans) {
      const { of, name, traceId, spanId, startMs, endMs, attributes } = span;
      const ids = traced === null ? {} : { trace: traceId, span: spanId };
      const about = { event: of, ms: Math.round(endMs - startMs), ...fieldsOf(attributes), ...ids };
      log.info(about, name);
    }
  };
}

/** The attributes by short names: `drover.run.id` is run, `drover.agent.id` agent. */
function fieldsOf(attributes: SpanData["attributes"]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => {
      const short = name.replace(/^drover\./, "").replace(/\.id$/, "");
      return [short, value];
    }),
  );
}
