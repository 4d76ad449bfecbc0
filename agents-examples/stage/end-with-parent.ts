/**
 * Loaded before the program of each child: when the story is gone, however it ended, its end of our
 * standard input closes, and we are asked to stop. Nothing is left running, even after SIGKILL.
 */
process.stdin.once("end", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
// Waiting for that alone must not keep a program alive.
if ("unref" in process.stdin) process.stdin.unref();
