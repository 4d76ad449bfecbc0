/** Whether the lack of a tool is a failure: DROVER_REQUIRE names it, or says `all`. */
export function isRequired(
  tool: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const required = (env.DROVER_REQUIRE ?? "").split(/[\s,]+/);
  return required.includes(tool) || required.includes("all");
}
