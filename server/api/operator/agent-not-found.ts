// The error of a call about a session that no server knows.
import { DroverError } from "../../errors.ts";

/** `session`: in hex. */
export function agentNotFound(session: string, namespace: string): DroverError {
  return new DroverError(
    "AGENT_NOT_FOUND",
    `There is no agent of the session "${session}" in the namespace "${namespace}", or it has not called for 10 minutes: list those that there are.`,
    { metadata: { name: session } },
  );
}
