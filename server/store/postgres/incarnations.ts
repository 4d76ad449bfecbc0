// Detects that the database is no longer the one from which the cached data was read. The
// incarnation of every new connection is read before it is used: after a fail-over all connections
// are new.

export interface Incarnations {
  /** A connection was made; it is used once this has returned. */
  connected(incarnation: string): void;
  listen(listener: () => void): void;
  /** Changes seen so far. */
  count(): number;
}

export function createIncarnations(): Incarnations {
  const listeners: (() => void)[] = [];
  let known: string | null = null;
  let count = 0;
  return Object.freeze({
    connected(incarnation: string): void {
      const isOther = known !== null && known !== incarnation;
      known = incarnation;
      if (!isOther) return;
      count++;
      for (const listener of listeners) listener();
    },
    listen: (listener: () => void) => void listeners.push(listener),
    count: () => count,
  });
}
