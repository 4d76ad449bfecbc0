// Rejections of promises that no code handles, which would have ended a real process.

/** Node reports it when nothing else is left to do. */
export async function unhandledRejections(): Promise<readonly string[]> {
  const rejections: string[] = [];
  const record = (error: unknown): void =>
    void rejections.push(
      `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`,
    );
  process.on("unhandledRejection", record);
  await new Promise((go) => setImmediate(go));
  process.off("unhandledRejection", record);
  return rejections;
}
