// The namespace of all pages, and the choice of another one.
import { createContext, type ReactNode, useContext } from "react";
import { operator } from "../calls/clients.ts";
import { useCall } from "../calls/use-call.ts";

const Namespace = createContext("default");

export function NamespaceProvider(props: { readonly name: string; readonly children: ReactNode }) {
  return <Namespace.Provider value={props.name}>{props.children}</Namespace.Provider>;
}

/** Its name, for the field `namespace` of every call. */
export function useNamespace(): string {
  return useContext(Namespace);
}

const LISTED_MAX = 1_000;

export function NamespaceChoice() {
  const current = useNamespace();
  const list = useCall("namespaces", async (signal) => {
    const { namespaces } = await operator.listNamespaces({ pageSize: LISTED_MAX }, { signal });
    return namespaces.map(({ name }) => name);
  });
  const known = list.kind === "loaded" ? list.value : [];
  const names = known.includes(current) ? known : [current, ...known];
  return (
    <label className="namespace">
      <span>Namespace</span>
      <select
        value={current}
        onChange={({ target }) => {
          // Another tenant: the old page must not stay visible at all.
          location.assign(
            target.value === "default" ? "/" : `/ns/${encodeURIComponent(target.value)}`,
          );
        }}
      >
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
