// Rejections of promises that nobody has heard of, which would have ended a real process.

/** Node tells of it when nothing else is left to do. */
export async function unheardRejections(): Promise<readonly string[]> {
  const unheard: string[] = [];
  const hear = (error: unknown): void =>
    void unheard.push(`nobody heard of ${error instanceof Error ? error.stack : String(error)}`);
  process.on("unhandledRejection", hear);
  await new Promise((go) => setImmediate(go));
  process.off("unhandledRejection", hear);
  return unheard;
}
