/** The dashboard has words for whatever the server says of people and of supervisors. */
import { describe, expect, test } from "vitest";
import { answers, escalationReasons, rules } from "../../../server/store/postgres/codes.ts";
import {
  answerWords,
  lookFirst,
  reasonOfQuestion,
} from "../../../web/src/words/escalation-words.ts";
import { ruleMeanings } from "../../../web/src/words/rule-words.ts";

describe("the words of the dashboard", () => {
  test("have each rule of an intervention", () => {
    expect(Object.keys(ruleMeanings).sort()).toEqual([...rules.names].sort());
  });

  test("have each kind of question, and what to look at first", () => {
    for (const reason of escalationReasons.names) {
      expect(reasonOfQuestion(reason)).toMatch(/ /);
      expect(lookFirst(reason), reason).toMatch(/\.$/);
    }
  });

  test("say of each answer what will happen", () => {
    for (const answer of answers.names) {
      const { name, happens } = answerWords(answer, { stepId: "pay" });
      expect(name).not.toBe(answer);
      expect(happens, answer).toMatch(/\.$/);
    }
  });
});
