// grpc.reflection, v1 and v1alpha: grpcurl and `buf curl` can call the server without local files.
// The two versions differ in their package only.
import {
  createRegistry,
  type DescFile,
  type DescService,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import type {
  ServerReflection as ReflectionV1,
  ServerReflectionRequest,
} from "@drover/proto/grpc/reflection/v1/reflection_pb.ts";
import type { ServerReflection as ReflectionV1Alpha } from "@drover/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Handlers } from "../calls/mount.ts";

interface Reflection {
  readonly v1: Handlers<typeof ReflectionV1>;
  readonly v1alpha: Handlers<typeof ReflectionV1Alpha>;
}

type Question = ServerReflectionRequest["messageRequest"];
type Answer =
  | { readonly kind: "files"; readonly files: readonly DescFile[] }
  | { readonly kind: "services"; readonly names: readonly string[] }
  | { readonly kind: "extensions"; readonly type: string; readonly numbers: readonly number[] }
  | { readonly kind: "unknown"; readonly what: string };

interface Known {
  readonly files: ReadonlyMap<string, DescFile>;
  readonly registry: Registry;
  readonly services: readonly string[];
}

/** `more`: files that no service imports, such as those of error details. */
export function createReflection(
  services: readonly DescService[],
  more: readonly DescFile[],
): Reflection {
  const files = closure([...services.map((service) => service.file), ...more]);
  const known: Known = {
    files: new Map(files.map((file) => [file.proto.name, file])),
    registry: createRegistry(...files),
    services: services.map((service) => service.typeName),
  };
  const ask = (question: Question): Answer => answerTo(question, known);

  const v1: Handlers<typeof ReflectionV1> = {
    async *serverReflectionInfo(requests) {
      for await (const request of requests)
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: responseOf(ask(request.messageRequest)),
        };
    },
  };
  const v1alpha: Handlers<typeof ReflectionV1Alpha> = {
    async *serverReflectionInfo(requests) {
      for await (const request of requests)
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: responseOf(ask(alike(request.messageRequest))),
        };
    },
  };
  return Object.freeze({ v1, v1alpha });
}

/** The files and all that they import; imports come first. */
function closure(roots: readonly DescFile[]): DescFile[] {
  const found = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    if (found.has(file)) return;
    for (const needed of file.dependencies) visit(needed);
    found.add(file);
  };
  for (const root of roots) visit(root);
  return [...found];
}

interface AlphaQuestion {
  readonly case: Question["case"];
  readonly value?: unknown;
}

/** v1alpha has the same fields; only the type of one part is in another package. */
function alike(question: AlphaQuestion): Question {
  return question as Question;
}

function answerTo(question: Question, { files, registry, services }: Known): Answer {
  switch (question.case) {
    case "listServices":
      return { kind: "services", names: services };
    case "fileByFilename":
      return filesOf(files.get(question.value), question.value);
    case "fileContainingSymbol":
      return filesOf(fileOfSymbol(registry, question.value), question.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const extended = registry.getMessage(containingType);
      const found = extended && registry.getExtensionFor(extended, extensionNumber);
      return filesOf(found?.file, `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const type = question.value;
      if (!registry.getMessage(type)) return { kind: "unknown", what: type };
      const numbers = [...registry]
        .filter((desc) => desc.kind === "extension" && desc.extendee.typeName === type)
        .map((desc) => (desc.kind === "extension" ? desc.number : 0));
      return { kind: "extensions", type, numbers };
    }
    case undefined:
      return { kind: "unknown", what: "an empty question" };
  }
}

/** A symbol may be a message, enum, service or extension, or a method, field or value of one. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const found = registry.get(symbol) ?? registry.get(symbol.replace(/\.[^.]+$/, ""));
  return found?.file;
}

function filesOf(file: DescFile | undefined, what: string): Answer {
  return file ? { kind: "files", files: closure([file]) } : { kind: "unknown", what };
}

function responseOf(answer: Answer) {
  switch (answer.kind) {
    case "services":
      return {
        case: "listServicesResponse" as const,
        value: { service: answer.names.map((name) => ({ name })) },
      };
    case "files":
      return {
        case: "fileDescriptorResponse" as const,
        value: {
          fileDescriptorProto: answer.files.map((file) =>
            toBinary(FileDescriptorProtoSchema, file.proto),
          ),
        },
      };
    case "extensions":
      return {
        case: "allExtensionNumbersResponse" as const,
        value: { baseTypeName: answer.type, extensionNumber: [...answer.numbers] },
      };
    case "unknown":
      return {
        case: "errorResponse" as const,
        value: { errorCode: Code.NOT_FOUND, errorMessage: `${answer.what} is not known here` },
      };
  }
}
