/** `drover token create`, `list`, `revoke`: API tokens, for servers that require them. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type CreateTokenResponse,
  CreateTokenResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  Role,
  RoleSchema,
  type Token,
  TokenSchema,
} from "@drover/proto/drover/v1/token_pb.ts";
import { type Command, Option } from "commander";
import { addChangeOptions, type ByOptions, personOf } from "../change-options.ts";
import { addText, contextOf, parseDuration, wholeNumber } from "../context.ts";
import { addDatabaseOptions, type DatabaseOptions, runningDatabaseUrl } from "../database.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { GlobalOptions } from "../global-options.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import type { Output } from "../output.ts";
import { clean, phrase, timeWords } from "../words.ts";

type RoleName = "viewer" | "client" | "agent" | "operator" | "admin";

const ROLES: Readonly<Record<RoleName, Role>> = Object.freeze({
  viewer: Role.VIEWER,
  client: Role.CLIENT,
  agent: Role.AGENT,
  operator: Role.OPERATOR,
  admin: Role.ADMIN,
});

interface CreateOptions extends DatabaseOptions, ByOptions {
  readonly role: RoleName;
  readonly queue: readonly string[];
  /** In milliseconds. */
  readonly validFor?: number;
  readonly allNamespaces?: boolean;
  readonly inDatabase?: boolean;
}

interface ListOptions {
  readonly allNamespaces?: boolean;
  readonly ended?: boolean;
  readonly limit: number;
}

export function addTokenVerbs(token: Command, ended: Ended): void {
  addCreate(token, ended);
  addTokenList(token, ended);
  addRevoke(token, ended);
}

function addCreate(token: Command, ended: Ended): void {
  addChangeOptions(addDatabaseOptions(token.command("create")), { by: true })
    .description("create a token for the namespace, and print its secret once")
    .argument("<name>", "a name for people")
    .addOption(
      new Option("--role <role>", "what the token allows")
        .choices(Object.keys(ROLES))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("--queue <queue>", "a queue that an agent may poll with it; may be given again")
        .argParser(addText)
        .default([], "every queue"),
    )
    .option("--valid-for <duration>", "its lifetime, as 90d", parseDuration)
    .option("--all-namespaces", "for every namespace: viewers, operators and admins")
    .option("--in-database", "write it directly into the database, for the first token")
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { namespace } = command.optsWithGlobals<GlobalOptions>();
      const request = requestOf(name, namespace, { options, command });
      const made = options.inDatabase
        ? await makeInDatabase(request, options)
        : await connect().operator.createToken(request);
      output.data(CreateTokenResponseSchema, made);
      if (output.format === "table") output.line(made.secret);
      if (made.token)
        output.note(`token ${made.token.id} ${clean(name)} created, for ${wordsOf(made.token)}`);
      output.note(
        "  next: store the secret, it is not shown again; use it as DROVER_TOKEN or --token",
      );
      ended(exitCodes.done);
    });
}

function requestOf(
  name: string,
  namespace: string,
  { options, command }: { options: CreateOptions; command: Command },
) {
  const { role, queue, validFor, allNamespaces = false } = options;
  return {
    namespace: allNamespaces ? "" : namespace,
    allNamespaces,
    name,
    by: personOf(options, command),
    role: ROLES[role],
    queues: [...queue],
    ...(validFor === undefined ? {} : { validFor: durationFromMs(validFor) }),
  };
}

async function makeInDatabase(
  request: ReturnType<typeof requestOf>,
  options: DatabaseOptions,
): Promise<CreateTokenResponse> {
  const { createTokenInDatabase } = await import("@drover/server/first-token.ts");
  const connectionString = await runningDatabaseUrl(options);
  return createTokenInDatabase(connectionString, request, options.databaseSchema);
}

function addTokenList(token: Command, ended: Ended): void {
  const verb = token
    .command("list")
    .description("list the tokens for the namespace, without their secrets")
    .option("-A, --all-namespaces", "include tokens of other namespaces and of all namespaces")
    .option("--ended", "include revoked and expired tokens")
    .addOption(
      new Option("--limit <n>", "most tokens to list")
        .argParser(wholeNumber(1, limitMax))
        .default(50),
    );
  addList(verb, ended, {
    ofCluster: true,
    headers: ["TOKEN", "NAME", "ROLE", "FOR", "QUEUES", "CREATED BY", "LAST USE", "ENDS"],
    read: ({ operator, namespace }, options: ListOptions) => {
      const { allNamespaces = false, ended: includeEnded = false, limit } = options;
      const asked = { namespace: allNamespaces ? "" : namespace, allNamespaces, includeEnded };
      return readPages<Token>(limit, async (page) => {
        const { tokens: items, nextPageToken } = await operator.listTokens({ ...asked, ...page });
        return { items, nextPageToken };
      });
    },
    item: TokenSchema,
    document: ({ items: tokens, nextPageToken }) =>
      documentOf(ListTokensResponseSchema, { tokens, nextPageToken }),
    row: rowOf,
    nameOf: ({ id }) => id,
    none: "no token: drover token create NAME --role ROLE",
  });
}

function rowOf(token: Token, output: Output): readonly string[] {
  const { id, name, role, namespace, queues, madeBy, lastUseTime, expireTime } = token;
  return [
    id,
    name,
    phrase(RoleSchema, role),
    namespace || "every namespace",
    queues.join(" "),
    madeBy,
    output.when(lastUseTime) || "never",
    token.revokeTime
      ? `revoked ${timeWords(token.revokeTime)} by ${token.revokedBy}`
      : output.when(expireTime),
  ].map(clean);
}

function addRevoke(token: Command, ended: Ended): void {
  addChangeOptions(token.command("revoke"), { by: true })
    .description("revoke a token: refused by every server within 5 s")
    .argument("<token>", "its id, as drover token list shows it")
    .action(async (id: string, options: ByOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const answer = await connect().operator.revokeToken({ id, by: personOf(options, command) });
      output.data(RevokeTokenResponseSchema, answer);
      if (output.format === "table" && answer.token) {
        const { name, revokedBy, revokeTime } = answer.token;
        const by = clean(revokedBy);
        output.line(`token ${id} ${clean(name)} revoked by ${by} at ${timeWords(revokeTime)}`);
      }
      ended(exitCodes.done);
    });
}

function wordsOf({ role, namespace, queues }: Token): string {
  const where = namespace === "" ? "every namespace" : `the namespace ${clean(namespace)}`;
  const what = queues.length === 0 ? "" : `, queues ${queues.map(clean).join(", ")}`;
  return `${phrase(RoleSchema, role)}s in ${where}${what}`;
}
