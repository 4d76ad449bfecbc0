// The token that this tab calls with. Kept until the tab closes and no longer, and nowhere else.

const KEPT_AS = "drover.token";
const listeners = new Set<() => void>();

export function token(): string | null {
  return sessionStorage.getItem(KEPT_AS);
}

export function keepToken(value: string): void {
  sessionStorage.setItem(KEPT_AS, value);
  for (const tell of listeners) tell();
}

/** Hears of a new token: calls that were refused are asked again. */
export function onToken(tell: () => void): () => void {
  listeners.add(tell);
  return () => void listeners.delete(tell);
}

const refused = new Set<() => void>();

/** A call was refused because nobody knows who calls: perhaps the token has ended meanwhile. */
export function tellRefused(): void {
  for (const tell of refused) tell();
}

export function onRefused(tell: () => void): () => void {
  refused.add(tell);
  return () => void refused.delete(tell);
}
