// Parts of a round that have nothing to do with each other: one that fails keeps no other from
// being done.

/** Does all of them in this order; then rejects with what went wrong, if anything did. */
export async function eachByItself(parts: Iterable<() => Promise<unknown>>): Promise<void> {
  const errors: unknown[] = [];
  for (const part of parts)
    try {
      await part();
    } catch (error) {
      errors.push(error);
    }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join("; "));
}
