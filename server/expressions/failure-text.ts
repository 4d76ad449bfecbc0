/** Most characters of what is said about one failure: it may quote a key or a value. */
const FAILURE_TEXT_MAX = 500;

/**
 * What went wrong with a payload, as it can be stored and read: payloads may have NUL in their
 * texts, and PostgreSQL's texts may not.
 */
export function failureText(text: string): string {
  const cut = text.length > FAILURE_TEXT_MAX ? `${text.slice(0, FAILURE_TEXT_MAX)}…` : text;
  return cut.toWellFormed().replaceAll("\0", "\uFFFD");
}
