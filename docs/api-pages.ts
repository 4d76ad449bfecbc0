/**
 * docs/reference/api: the contract as pages, one for each file of proto/drover with all that its
 * comments and rules say, and an index of the calls with the roles that may make them.
 */
import type { DescEnum, DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { getComments, getSyntaxComments } from "@bufbuild/protoplugin";
import { fullNameOf, PERMISSIONS } from "../server/api/auth/roles.ts";
import { isRequired, rulesOfField, rulesOfMessage } from "./field-rules.ts";
import { cellText, codeCell, markdownTable, markdownText } from "./markdown-text.ts";

const NOTE =
  "<!-- Made by `node docs/generate.ts` from proto/drover: change that, not this page. -->";

/** By their names in the folder. */
export function apiPages(files: readonly DescFile[]): ReadonlyMap<string, string> {
  const pages = files.map((file) => [pageName(file), filePage(file)] as const);
  return new Map([["README.md", indexPage(files)], ...pages]);
}

/** `drover/v1/agent_service` is agent-service.md. */
function pageName({ name }: DescFile): string {
  return `${shortName(name).replaceAll("_", "-")}.md`;
}

function shortName(name: string): string {
  return name.replace("drover/v1/", "");
}

function indexPage(files: readonly DescFile[]): string {
  const services = files.flatMap(({ services: some }) => some);
  const rows = files.map((file) => [linkTo(file), cellText(firstSentence(commentOfFile(file)))]);
  return [
    "# API",
    NOTE,
    "This page lists every call of the API with the roles that may make it. Each has a link to its page, with all messages, fields and limits. The API is gRPC, and the same calls take JSON over HTTP ([Operating](../../OPERATING.md)).",
    "A role counts where the server requires tokens ([Security](../../SECURITY.md)). A call needs a token for the namespace that it names. *Every namespace*: the token must be for all of them. *Its own*: the answer has what the token may see. *Callback token*: the namespace is that of the callback token. An error has one of the [reasons](../errors/README.md).",
    ...services.flatMap((service) => [
      `## ${service.name}`,
      markdownText(commentOf(service)),
      markdownTable(
        ["call", "roles", "namespace", "what it does"],
        service.methods.map((method) => callRow(method, service.file)),
      ),
    ]),
    "## Files",
    "The contract is in `proto/drover/v1`. [Generated stubs](../../../proto/README.md) says how to compile it.",
    `${markdownTable(["file", "content"], rows)}\n`,
  ].join("\n\n");
}

const SCOPES = {
  namespace: "named",
  callback: "callback token",
  "control-plane": "every namespace",
  own: "its own",
};

function callRow(method: DescMethod, file: DescFile): readonly string[] {
  const { roles, scope } = permissionOf(method);
  const link = `[${method.name}](${pageName(file)}#${anchor(method.name)})`;
  return [link, roles.join(", "), SCOPES[scope], cellText(firstSentence(commentOf(method)))];
}

function permissionOf(method: DescMethod) {
  const found = PERMISSIONS.get(fullNameOf(method));
  if (!found) throw new Error(`${fullNameOf(method)} has no roles: server/api/auth/roles.ts`);
  return found;
}

function linkTo(file: DescFile): string {
  return `[${shortName(file.name)}.proto](${pageName(file)})`;
}

function filePage(file: DescFile): string {
  const messages = file.messages.flatMap(withNested);
  const enums = [...file.enums, ...messages.flatMap(({ nestedEnums }) => nestedEnums)];
  const parts = [
    `# ${shortName(file.name)}.proto`,
    NOTE,
    markdownText(commentOfFile(file)),
    ...file.services.flatMap((service) => [
      `## ${service.name}`,
      markdownText(commentOf(service)),
      ...service.methods.flatMap(methodPart),
    ]),
    ...(messages.length > 0 ? ["## Messages", ...messages.flatMap(messagePart)] : []),
    ...(enums.length > 0 ? ["## Enums", ...enums.flatMap(enumPart)] : []),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function withNested(message: DescMessage): readonly DescMessage[] {
  return [message, ...message.nestedMessages.flatMap(withNested)];
}

function methodPart(method: DescMethod): readonly string[] {
  const { input, output, methodKind, parent } = method;
  const stream = methodKind === "server_streaming" ? "a stream of " : "";
  const { roles, scope } = permissionOf(method);
  return [
    `### ${method.name}`,
    `Takes ${typeLink(input, parent.file)}, returns ${stream}${typeLink(output, parent.file)}. Roles: ${roles.join(", ")}. Namespace: ${SCOPES[scope]}.`,
    markdownText(commentOf(method)),
  ];
}

function messagePart(message: DescMessage): readonly string[] {
  const rows = message.fields.map((field) => fieldRow(field, message.file));
  const choices = message.oneofs.map((oneof) => {
    const names = oneof.fields.map(({ name }) => `\`${name}\``).join(", ");
    return `${isRequired(oneof) ? "Exactly" : "At most"} one of ${names} is set.`;
  });
  const rules = rulesOfMessage(message).map((rule) => `Rule: ${markdownText(rule)}.`);
  return [
    `### ${localName(message)}`,
    markdownText(commentOf(message)),
    [...choices, ...rules].join(" "),
    rows.length === 0 ? "It has no fields." : markdownTable(["field", "limits", "meaning"], rows),
  ];
}

function fieldRow(field: DescField, file: DescFile): readonly string[] {
  const deprecated = field.deprecated ? "Deprecated. " : "";
  return [
    `\`${field.name}\`<br>${typeOf(field, file)}`,
    cellText(rulesOfField(field).join("; ")),
    `${deprecated}${cellText(commentOf(field))}`,
  ];
}

function typeOf(field: DescField, file: DescFile): string {
  switch (field.fieldKind) {
    case "scalar":
      return scalarName(field.scalar);
    case "enum":
      return typeLink(field.enum, file);
    case "message":
      return typeLink(field.message, file);
    case "list":
      return `repeated ${field.listKind === "scalar" ? scalarName(field.scalar) : typeLink(field.listKind === "enum" ? field.enum : field.message, file)}`;
    case "map": {
      const value =
        field.mapKind === "scalar"
          ? scalarName(field.scalar)
          : typeLink(field.mapKind === "enum" ? field.enum : field.message, file);
      return `map of ${scalarName(field.mapKey)} to ${value}`;
    }
  }
}

function scalarName(scalar: ScalarType): string {
  return (ScalarType[scalar] ?? "").toLowerCase();
}

function typeLink(type: DescMessage | DescEnum, from: DescFile): string {
  if (type.file.proto.package !== "drover.v1") return `\`${type.typeName}\``;
  const page = type.file.name === from.name ? "" : pageName(type.file);
  return `[${localName(type)}](${page}#${anchor(localName(type))})`;
}

/** `Task.Success` for a type within another one. */
function localName({ typeName }: DescMessage | DescEnum): string {
  return typeName.replace("drover.v1.", "");
}

function anchor(heading: string): string {
  return heading.toLowerCase().replaceAll(".", "");
}

function enumPart(of: DescEnum): readonly string[] {
  const rows = of.values.map((value) => [
    codeCell(value.name),
    String(value.number),
    cellText(commentOf(value)),
  ]);
  return [
    `### ${localName(of)}`,
    markdownText(commentOf(of)),
    markdownTable(["value", "number", "meaning"], rows),
  ];
}

function commentOf(desc: Parameters<typeof getComments>[0]): string {
  return plain(getComments(desc).leading);
}

function commentOfFile(file: DescFile): string {
  const { leadingDetached, leading = "" } = getSyntaxComments(file);
  return plain([...leadingDetached, leading].join("\n"));
}

/** Without the blank after `//`. */
function plain(comment = ""): string {
  return comment.replace(/^ /gm, "").trim();
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/:$/, ".") ?? text;
}
