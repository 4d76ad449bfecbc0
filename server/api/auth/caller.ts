// Who calls: what an API token, a JWT or a client certificate proves.
import type { Role } from "../../store/tokens.ts";

export interface Caller {
  readonly proof: "token" | "jwt" | "certificate";
  /** Of the API token; `sub` of the JWT; what is mapped of the certificate. */
  readonly id: string;
  /** Of the API token, which anyone may hold; otherwise of the person or service itself. */
  readonly name: string;
  readonly role: Role;
  /** null: every namespace. */
  readonly namespaces: readonly string[] | null;
  /** Queues that an agent may poll; empty: all. */
  readonly queues: readonly string[];
  /** Roles of the person that approvals may name. */
  readonly groups: readonly string[];
}

/** As the subject of a sentence. */
export function callerWords({ proof, name }: Caller): string {
  switch (proof) {
    case "token":
      return `The API token "${name}"`;
    case "jwt":
      return `The JWT of "${name}"`;
    case "certificate":
      return `The client certificate of "${name}"`;
  }
}
