import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { exitCodes } from "../../../cli/failure.ts";
import { failureOf } from "../../../cli/failure-of.ts";

test.each([
  ["57P03", "the database system is starting up"],
  ["53300", "sorry, too many clients already"],
])("a database that takes no connection now (%s) is tried again later", (code, message) => {
  const error = Object.assign(new DatabaseError(message, 0, "error"), { code });
  expect(failureOf(error, "127.0.0.1:7420")).toMatchObject({
    message: `the database takes no connection now: ${message}`,
    code: exitCodes.unreachable,
    next: expect.stringContaining("try again in some seconds"),
  });
});
