// Waits for a condition, never for a time: asks again until the answer is not null.

const ASK_EVERY_MS = 20;

export async function until<T>(
  what: string,
  ask: () => T | null | Promise<T | null>,
  withinMs = 20_000,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}
