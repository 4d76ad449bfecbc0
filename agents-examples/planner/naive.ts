/** The same errand by a plain program: the first draft, done at once, each call tried twice. */
import type { NaiveStage } from "../stage/story.ts";
import { deposit, errand, input } from "./errand.ts";

export async function naive({ remote, act }: NaiveStage): Promise<void> {
  async function twice(path: string, body: { readonly ref: string }): Promise<void> {
    // A call that failed is made again, as a new one.
    const key = () => crypto.randomUUID();
    await remote(path, { key: key(), body }).catch(() => remote(path, { key: key(), body }));
    act(`${path} done`, "naive");
  }

  await twice("hall/book", input);
  // The draft names a step that there is not, so the program never gets to the food.
  await twice("mail/invite", input);
  await twice("bank/transfer", { ref: deposit });
  act(`${errand} is planned`, "naive");
}
