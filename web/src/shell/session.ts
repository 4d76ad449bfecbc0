// The API token of this tab, which is stored until the tab is closed and nowhere else; and the name
// of the person, which the browser keeps.

const KEPT_AS = "drover.token";
const listeners = new Set<() => void>();

export function token(): string | null {
  return sessionStorage.getItem(KEPT_AS);
}

export function keepToken(value: string): void {
  sessionStorage.setItem(KEPT_AS, value);
  for (const listener of listeners) listener();
}

const PERSON = "drover.name";

/** The name that the user of this browser gave; "": none yet. */
export function person(): string {
  return localStorage.getItem(PERSON) ?? "";
}

export function keepPerson(name: string): void {
  localStorage.setItem(PERSON, name);
}

/** Called when there is a new token: refused calls are repeated. */
export function onToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const refused = new Set<() => void>();

/** Called when a call was refused for lack of a valid token, which may have expired meanwhile. */
export function tellRefused(): void {
  for (const listener of refused) listener();
}

export function onRefused(listener: () => void): () => void {
  refused.add(listener);
  return () => void refused.delete(listener);
}
