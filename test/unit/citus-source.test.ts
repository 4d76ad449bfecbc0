// What is changed in the source of Citus before it is compiled.
import { expect, test } from "vitest";
import { withoutDoubled } from "../support/citus-cluster.ts";

const BEFORE = `#define a(b) b

`;
const DEFINED = `static inline bool
have_createdb_privilege(void)
{
	if (superuser())
	{
		return true;
	}
	return false;
}
`;
const AFTER = `

static inline bool
other(void)
{
	return true;
}
`;
const SOURCE = `${BEFORE}${DEFINED}${AFTER}`;

test("a function that PostgreSQL declares is not defined a second time", () => {
  const header = "extern bool have_createdb_privilege(void);\n";
  expect(withoutDoubled(SOURCE, header)).toBe(`${BEFORE}${AFTER}`);
});

test("one that PostgreSQL does not declare stays", () => {
  expect(withoutDoubled(SOURCE, "extern Oid createdb(void);\n")).toBe(SOURCE);
});
