/** Environments of eighteen resources each, in a cloud of which every eighth call goes wrong. */
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Story } from "../stage/story.ts";
import { type Environment, environmentsOf, faultShare, kinds, regions } from "./environments.ts";
import { naive } from "./naive.ts";

export const story: Story = {
  intro: `Environments of ${kinds.length} resources each: all of them, or none. The cloud accepts
and takes its time; ${100 * faultShare} % of all calls are throttled or lose the line, before or
after it has acted. Some databases find no room in the first region, and some environments come to
the end of the quota in the middle, with half of the nodes made.`,
  right: "what is wanted is there once and whole, and of what cannot be there is nothing.",
  meanings: {
    network: "the connection broke, effect unknown: tried again with the same key",
    "rate-limited": "throttled: tried again after its Retry-After",
    "no-capacity": "permanent in this region: created in the second one",
    quota: "permanent: all is deleted, including incomplete nodes",
  },
  compares: true,

  async play({ start, schedule, seed, runs }) {
    start("cloud");
    const environments = environmentsOf({ seed, runs });
    const specs = environments.map(({ run }) => ({ run, input: { ref: run, ...regions } }));
    const follow = await schedule(specs);
    await follow.ended;
  },

  naive,

  check: (facts, states, parameters) => {
    const byRun = Map.groupBy(facts, ({ ref }) => ref.split("/")[0]);
    const environments = environmentsOf(parameters);
    return [
      ...checkEnds(environments, states),
      ...environments.flatMap((one) => checkEnvironment(one, byRun.get(one.run) ?? [])),
    ];
  },
};

function checkEnvironment({ run, end, odd }: Environment, facts: readonly Fact[]): Problem[] {
  const keys = (did: string) =>
    new Set(facts.filter((fact) => fact.did === did).map(({ key }) => key));
  const created = keys("begun");
  const ready = keys("ready");
  const deleted = keys("deleted");
  const active = created.difference(deleted);
  const whole = active.intersection(ready);
  const right = end === "COMPLETED" ? kinds.length : 0;
  if (active.size === right && whole.size === right) return [];
  const why = odd === null ? "" : ` (${odd})`;
  const message = `${whole.size} resources and ${active.size - whole.size} half-made are left`;
  return [{ run, message: `${message}; right is ${right}${why}` }];
}
