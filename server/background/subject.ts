// A subject passes values to its subscribers, in the order in which they subscribed. A part
// publishes to a subject that was created before it; parts that are created later subscribe. So no
// part refers to one that does not exist yet.

export interface Subject<T> {
  publish(value: T): void;
  subscribe(listener: (value: T) => void): void;
}

export function createSubject<T>(): Subject<T> {
  const listeners: ((value: T) => void)[] = [];
  return Object.freeze({
    publish(value: T) {
      for (const listener of listeners) listener(value);
    },
    subscribe: (listener: (value: T) => void) => void listeners.push(listener),
  });
}
