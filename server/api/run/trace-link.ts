// The link from a run to its trace in a viewer such as Jaeger or Grafana: a URL that the operator
// sets as a template with `{trace_id}` in it.

const PLACEHOLDER = "{trace_id}";

/** What is wrong with a template, as the end of a sentence about it; null: nothing. */
export function traceLinkProblem(template: string): string | null {
  if (!template.includes(PLACEHOLDER)) return `does not contain ${PLACEHOLDER}`;
  const url = traceUrl(template, "0".repeat(32));
  if (/[\s{}]/.test(url)) return `may contain no spaces, and no braces but those of ${PLACEHOLDER}`;
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  return protocol === "http:" || protocol === "https:" ? null : "is no http or https URL";
}

/** `traceId`: 32 hexadecimal digits. */
export function traceUrl(template: string, traceId: string): string {
  return template.replaceAll(PLACEHOLDER, traceId);
}
