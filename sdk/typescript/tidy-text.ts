/** Texts of agents and of remote services, changed such that the server accepts them. */

const messageLengthMax = 4_096;
const codeLengthMax = 128;

/** A code made from what a remote service said must not cost the report. */
export function tidyCode(code: string): string {
  const tidy = code.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^drover\./, "drover-");
  return tidy.slice(0, codeLengthMax) || "error";
}

export function tidyMessage(message: string): string {
  return message.replaceAll("\0", " ").slice(0, messageLengthMax).toWellFormed();
}
