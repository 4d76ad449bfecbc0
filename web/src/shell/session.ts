// The token of this tab, which is stored until the tab is closed and nowhere else: an API token, or
// the ID token of a person who has signed in. And the name of the person: of who has signed in the
// verified one, else the one that the user of this browser gave.

const KEPT_AS = "drover.token";
const SIGN_IN = "drover.sign-in";
const listeners = new Set<() => void>();

/** Who has signed in at the identity provider. */
export interface SignIn {
  readonly name: string;
  /** When the token ends, in ms since 1970. */
  readonly endsAt: number;
  /** "": the provider gave none. */
  readonly refreshToken: string;
}

export function token(): string | null {
  return sessionStorage.getItem(KEPT_AS);
}

/** An API token: it does not prove who holds it. */
export function keepToken(value: string): void {
  sessionStorage.removeItem(SIGN_IN);
  keep(value);
}

export function keepSignIn(value: string, signIn: SignIn): void {
  sessionStorage.setItem(SIGN_IN, JSON.stringify(signIn));
  keep(value);
}

function keep(value: string): void {
  sessionStorage.setItem(KEPT_AS, value);
  for (const listener of listeners) listener();
}

export function signOut(): void {
  sessionStorage.removeItem(KEPT_AS);
  sessionStorage.removeItem(SIGN_IN);
  for (const listener of listeners) listener();
}

/** null: no person has signed in; the tab may have an API token. */
export function signedIn(): SignIn | null {
  const kept = sessionStorage.getItem(SIGN_IN);
  if (kept === null) return null;
  const found: unknown = JSON.parse(kept);
  return isSignIn(found) ? found : null;
}

function isSignIn(value: unknown): value is SignIn {
  if (typeof value !== "object" || value === null) return false;
  const isText = (key: string) => typeof Reflect.get(value, key) === "string";
  return (
    isText("name") && isText("refreshToken") && typeof Reflect.get(value, "endsAt") === "number"
  );
}

const PERSON = "drover.name";

/** The name of who has signed in, else the one that the user of this browser gave; "": none. */
export function person(): string {
  return signedIn()?.name ?? localStorage.getItem(PERSON) ?? "";
}

export function keepPerson(name: string): void {
  localStorage.setItem(PERSON, name);
}

/** Called when there is another token, or none any more: refused calls are repeated. */
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
