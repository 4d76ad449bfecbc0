// Whether the database is still the one that what is kept in memory was read from. Every new
// connection tells its incarnation before it is used: after a fail-over all of them are new.

export interface Incarnations {
  /** A connection was made; it is used once this has returned. */
  connected(incarnation: string): void;
  listen(listener: () => void): void;
}

export function createIncarnations(): Incarnations {
  const listeners: (() => void)[] = [];
  let known: string | null = null;
  return Object.freeze({
    connected(incarnation: string): void {
      const isOther = known !== null && known !== incarnation;
      known = incarnation;
      if (isOther) for (const listener of listeners) listener();
    },
    listen: (listener: () => void) => void listeners.push(listener),
  });
}
