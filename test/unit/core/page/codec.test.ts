/** The text of a page, and what of it is refused. Any page: property/pages.test.ts. */
import { describe, expect, test } from "vitest";
import { decodePage, encodePage } from "../../../../server/core/page/codec.ts";
import { emptyPage, type PageStep } from "../../../../server/core/page/page.ts";
import { START } from "../../../support/core-world.ts";
import {
  headOf,
  leasedStep,
  pageAttemptAt,
  pageOf,
  pageStepOf,
  readyStep,
  stepIn,
} from "../../../support/hand-made-pages.ts";

const handedOut = (no: number): PageStep => {
  const { step, ...of } = leasedStep({}, no);
  return { ...of, step: { ...step, firstReadyAt: START } };
};

const done = (no: number): PageStep =>
  pageStepOf(
    {
      no,
      forward: { kind: "SUCCEEDED" },
      fence: 1,
      attempt: 1,
      firstReadyAt: START,
      strategies: [{ planned: 0, changed: false, effectStatus: "MADE" }],
      result: { fence: 1, kind: "perform", n: 0 },
    },
    {
      attempts: [
        pageAttemptAt({
          outcome: { kind: "success", output: { kind: "json", json: '{"ok":true}' } },
          counted: { policy: null },
        }),
      ],
    },
  );

describe("the text", () => {
  test("the first line has the format, the number and the head; each other one a step, the last first", () => {
    const page = pageOf(readyStep(), pageStepOf({ no: 3, forward: { kind: "SUCCEEDED" } }));
    expect(encodePage(page).text).toBe(
      [
        '{"f":1,"n":0,"h":{"s":2000000,"v":1,"c":[1,0,1]},"s":{',
        '"3":{"w":"SUCCEEDED","s":"NONE"},',
        '"0":{"w":{"k":"READY","r":1000000,"w":1300000},"z":[7]}',
        '},"of":[1,2,5]}',
      ].join("\n"),
    );
  });

  test("a page without steps, and one without a head, are read back too", () => {
    for (const page of [pageOf(), emptyPage(4)])
      expect(decodePage(encodePage(page).text).page).toEqual(page);
  });

  test("a chain of three steps that went well needs less than 650 bytes", () => {
    const { text } = encodePage(pageOf(done(0), done(1), done(2)));
    expect(text.length).toBeLessThan(650);
  });

  test("a lease leaves out what follows from its step and terms; so does its attempt", () => {
    expect(encodePage(pageOf(handedOut(1))).lines.get(1)).toBe(
      '{"z":[7],"w":[{"k":"LEASED","p":1,"w":900000,"g":"worker-1",' +
        '"s":"XlUQEV5VEBFeVRARXlUQEQ","x":"XsTnoF7E56BexOegXsTnoA"}],"r":1000000}',
    );
    expect(encodePage(pageOf(done(1))).lines.get(1)).toBe(
      '{"w":"SUCCEEDED","f":1,"e":[{"e":10,"o":"{\\"ok\\":true}","d":"0W5X",' +
        '"g":"worker-1","s":"XlUQEV5VEBFeVRARXlUQEQ","x":"XsTnoF7E56BexOegXsTnoA"}],"r":1000000}',
    );
  });

  test("of a step that ends, the end of its line and the steps before it stay", () => {
    const { text } = encodePage(pageOf(done(0), handedOut(1)));
    const next = encodePage(pageOf(done(0), done(1), handedOut(2))).text;
    const from = text.indexOf('"g":"worker-1"');
    expect(from).toBeGreaterThan(0);
    expect(next.endsWith(text.slice(from))).toBe(true);
  });

  test("what is as in a step that was never tried is left out", () => {
    const page = pageOf(pageStepOf({ forward: { kind: "SKIPPED" } }));
    expect(encodePage(page).lines.get(0)).toBe('{"w":"SKIPPED"}');
  });
});

describe("lines are reused", () => {
  test("a step that is the same is written with its line as it was read", () => {
    // As a server of another version would write it: its keys are in another order.
    const text = '{"f":1,"n":1,"s":{\n"41":{"w":"FAILED"},\n"40":{"new":1,"w":"SKIPPED"}\n}}';
    const read = decodePage(text);
    const next = new Map(read.page.steps).set(
      41,
      pageStepOf({ no: 41, forward: { kind: "SKIPPED" } }),
    );
    expect(encodePage({ ...read.page, steps: next }, read).text).toBe(
      '{"f":1,"n":1,"s":{\n"41":{"w":"SKIPPED"},\n"40":{"new":1,"w":"SKIPPED"}\n}}',
    );
  });
});

describe("keys that this version does not know", () => {
  const written = pageOf({ ...leasedStep(), attempts: [pageAttemptAt()] });
  const unknown = { later: { deep: [1, "\n"] } };
  const page = {
    ...written,
    head: headOf({ unknown }),
    steps: new Map([
      [0, { ...stepIn(written), unknown, attempts: [{ ...pageAttemptAt(), unknown }] }],
    ]),
  };

  test("are stored at the head, at a step and at an attempt", () => {
    const read = decodePage(encodePage(page).text).page;
    expect(read).toEqual(page);
    expect(decodePage(encodePage(read).text).page).toEqual(page);
  });

  test("stay when the step changes otherwise", () => {
    const read = decodePage(encodePage(page).text);
    const changed = { ...stepIn(read.page), progress: "half" };
    const { text } = encodePage({ ...read.page, steps: new Map([[0, changed]]) }, read);
    expect(text.match(/"later":\{"deep":\[1,"\\n"\]\}/g)).toHaveLength(3);
  });
});

describe("what cannot be read is refused", () => {
  const REFUSED =
    "a page of format 2 was read, and this version knows format 1: " +
    "run a version of the server that is as new as the one that wrote it";

  test("another format", () => {
    const { text } = encodePage(pageOf(readyStep()));
    expect(() => decodePage(text.replace('"f":1', '"f":2'))).toThrow(REFUSED);
  });

  test("another format, also where nothing else of the text is as this version knows it", () => {
    expect(() => decodePage('{"f":2,"pages":[]}')).toThrow(REFUSED);
    expect(() => decodePage('{"f":2,"steps":[\n1,\n2]}')).toThrow(REFUSED);
  });

  test("text that has no format", () => {
    expect(() => decodePage("{}")).toThrow('a page begins with "{}", and its format is not there');
  });

  test("a state that no step has", () => {
    expect(() => decodePage('{"f":1,"n":1,"s":{\n"40":{"w":"DANCING"}\n}}')).toThrow(
      "a step is stored as DANCING, which is no state of it",
    );
  });
});
