/** The encoding story, run as a user runs it, and by the naive caller. */
import { expect, test } from "vitest";
import { filmOf } from "../../../agents-examples/encoding/film.ts";
import { runStory, storyMsMax, untrueLines } from "../../support/story-run.ts";

const seed = 3;

test(
  "a chunk without progress is ended, its encoder killed, and encoded in another way",
  async () => {
    const result = await runStory("encoding", "--seed", String(seed));
    expect(result.code, result.output).toBe(0);
    const step = `chunks[${filmOf(seed).stuckChunk - 1}]`;
    const ref = `film/${filmOf(seed).stuckChunk}`;

    const film = result.runs.get("film");
    expect(film?.steps.find(({ id }) => id === "chunks")?.items).toMatchObject({ succeeded: 6 });
    // What the first preset may have stored is deleted before the second one is tried.
    expect(
      film?.attempts.filter(({ stepId }) => stepId === step).map(({ failure }) => failure?.code),
    ).toEqual(["drover.stalled", undefined, undefined]);
    expect(film?.interventions).toContainEqual(
      expect.objectContaining({ rule: "stall", stepId: step }),
    );

    const of = result.facts.filter((fact) => fact.ref === ref);
    expect(of.map(({ did }) => did)).toEqual([
      "taken",
      "returned",
      "deleted",
      "taken",
      "stored",
      "returned",
    ]);
    expect(of[1]?.what).toEqual({ how: "SIGKILL" });
    expect(of[4]?.what.preset).toBe("safe");
  },
  storyMsMax,
);

test(
  "the naive caller keeps a seat and publishes nothing, as the README states",
  async () => {
    const result = await runStory("encoding", "--naive", "--seed", String(seed));
    expect(result.code).toBe(1);
    expect(untrueLines("encoding", [result])).toEqual([]);
  },
  storyMsMax,
);
