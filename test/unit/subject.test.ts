/** How parts of a process notify each other. */
import { expect, it } from "vitest";
import { createSubject } from "../../server/background/subject.ts";

it("a subject passes each value to those that have subscribed, in their order", () => {
  const subject = createSubject<number>();
  const received: string[] = [];
  subject.publish(1);
  subject.subscribe((value) => received.push(`first ${value}`));
  subject.subscribe((value) => received.push(`second ${value}`));
  subject.publish(2);
  expect(received).toEqual(["first 2", "second 2"]);
});
