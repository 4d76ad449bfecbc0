// What the claims of a verified JWT say about its holder: role, namespaces, queues and name.
//
//   drover_roles        "operator", or ["finance", "operator"]: the strongest role of Drover holds;
//                       all of them are roles that approvals may name
//   drover_namespaces   ["blue", "green"], or "*": all of them; left out: ["default"]
//   drover_queues       of an agent: the queues that it may poll; left out: all
//
// Settings name the claims. A name is first looked up as it is, since some providers use URLs as
// names, and then as a path into objects: `realm_access.roles`.
import type { OidcConfig } from "../../identity-config.ts";
import { ROLE_NAMES, type Role } from "../../store/tokens.ts";
import { DEFAULT_NAMESPACE } from "../calls/namespace-names.ts";
import type { Caller } from "./caller.ts";

/** Verified, as jose has read it. */
export type Claims = Readonly<Record<string, unknown>>;

type ClaimNames = Pick<OidcConfig, "rolesClaim" | "namespacesClaim" | "nameClaim">;

const QUEUES_CLAIM = "drover_queues";
const EVERY_NAMESPACE = "*";
const NAME_MAX = 256;

/** A caller whose role is null may do nothing. */
type ClaimedCaller = Omit<Caller, "role"> & { readonly role: Role | null };

/** null: it has no usable name. */
export function callerOfClaims(claims: Claims, names: ClaimNames): ClaimedCaller | null {
  const name = nameOf(claims, names);
  if (name === null) return null;
  const roles = listOf(claimAt(claims, names.rolesClaim)) ?? [];
  return {
    proof: "jwt",
    id: typeof claims.sub === "string" ? claims.sub : "",
    name,
    role: ROLE_NAMES.findLast((role) => roles.includes(role)) ?? null,
    namespaces: namespacesOf(claimAt(claims, names.namespacesClaim)),
    queues: listOf(claimAt(claims, QUEUES_CLAIM)) ?? [],
    groups: roles,
  };
}

/** An address that the provider says it has not verified could be that of another person. */
function nameOf(claims: Claims, { nameClaim }: ClaimNames): string | null {
  const { email, email_verified: verified, sub } = claims;
  const known = typeof email === "string" && email !== "" && verified !== false ? email : sub;
  const name = nameClaim === null ? known : claimAt(claims, nameClaim);
  const isName = typeof name === "string" && name !== "" && name.length <= NAME_MAX;
  return isName && !/\p{Cc}/u.test(name) ? name : null;
}

/** A claim that is no list of names allows none. */
function namespacesOf(claim: unknown): readonly string[] | null {
  if (claim === undefined) return [DEFAULT_NAMESPACE];
  const names = listOf(claim) ?? [];
  return names.includes(EVERY_NAMESPACE) ? null : names;
}

function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let at: unknown = claims;
  for (const key of name.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/** null: it is neither a text nor a list of texts. */
function listOf(claim: unknown): readonly string[] | null {
  if (typeof claim === "string") return [claim];
  if (!Array.isArray(claim)) return null;
  return claim.filter((one) => typeof one === "string");
}
