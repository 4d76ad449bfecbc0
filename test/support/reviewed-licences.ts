// Licences of the packages of Go, Python, Java and Rust, whose lock files do not state them: as
// each package states its own, read when it was added. Packages by licence, with a space between.

export type Licences = Readonly<Record<string, string>>;

export const goLicences: Licences = {
  "Apache-2.0":
    "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go github.com/go-logr/logr github.com/go-logr/stdr go.opentelemetry.io/auto/sdk go.opentelemetry.io/otel go.opentelemetry.io/otel/exporters/otlp/otlptrace go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp go.opentelemetry.io/otel/metric go.opentelemetry.io/otel/sdk go.opentelemetry.io/otel/trace go.opentelemetry.io/proto/otlp google.golang.org/genproto/googleapis/api google.golang.org/genproto/googleapis/rpc google.golang.org/grpc",
  "BSD-3-Clause":
    "github.com/google/uuid github.com/grpc-ecosystem/grpc-gateway/v2 golang.org/x/net golang.org/x/sys golang.org/x/text google.golang.org/protobuf",
  MIT: "github.com/cenkalti/backoff/v5 github.com/cespare/xxhash/v2",
};

export const pythonLicences: Licences = {
  "Apache-2.0":
    "googleapis-common-protos grpcio grpcio-tools opentelemetry-api opentelemetry-sdk pytest-asyncio types-grpcio types-protobuf",
  "Apache-2.0 OR BSD-3-Clause": "cryptography",
  "BSD-3-Clause": "msgspec protobuf",
  MIT: "mypy pydantic pytest ruff",
};

export const javaLicences: Licences = {
  "Apache-2.0":
    "com.fasterxml.jackson.core:jackson-databind io.grpc:grpc-inprocess io.grpc:grpc-netty-shaded io.grpc:grpc-protobuf io.grpc:grpc-stub io.opentelemetry:opentelemetry-api io.opentelemetry:opentelemetry-sdk-testing kr.motd.maven:os-maven-plugin org.apache.maven.plugins:maven-compiler-plugin org.apache.maven.plugins:maven-dependency-plugin org.apache.maven.plugins:maven-deploy-plugin org.apache.maven.plugins:maven-gpg-plugin org.apache.maven.plugins:maven-install-plugin org.apache.maven.plugins:maven-jar-plugin org.apache.maven.plugins:maven-javadoc-plugin org.apache.maven.plugins:maven-resources-plugin org.apache.maven.plugins:maven-source-plugin org.apache.maven.plugins:maven-surefire-plugin org.codehaus.mojo:exec-maven-plugin org.xolstice.maven.plugins:protobuf-maven-plugin",
  "BSD-3-Clause": "com.google.protobuf:protobuf-java com.google.protobuf:protobuf-java-util",
  "EPL-2.0": "org.junit.jupiter:junit-jupiter",
  MIT: "org.codehaus.mojo:build-helper-maven-plugin org.slf4j:slf4j-api org.slf4j:slf4j-simple",
};

export const rustLicences: Licences = {
  "(MIT OR Apache-2.0) AND Unicode-3.0": "unicode-ident",
  "Apache-2.0":
    "miette miette-derive prost prost-build prost-derive prost-types pulldown-cmark-to-cmark sync_wrapper",
  "Apache-2.0 OR MIT":
    "atomic-waker equivalent fastrand fnv indexmap pin-project pin-project-internal pin-project-lite",
  "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT": "linux-raw-sys rustix wasi",
  MIT: "bytes h2 http-body http-body-util hyper hyper-util mio pulldown-cmark slab tokio tokio-macros tokio-stream tokio-util tonic tonic-build tonic-prost tonic-prost-build tower tower-layer tower-service tracing tracing-attributes tracing-core try-lock want zmij",
  "MIT OR Apache-2.0":
    "anyhow async-trait base64 bitflags cfg-if either errno fixedbitset futures-channel futures-core futures-sink futures-task futures-util getrandom hashbrown heck http httparse hyper-timeout itertools itoa libc log logos logos-codegen logos-derive multimap once_cell percent-encoding petgraph prettyplease proc-macro2 prost-reflect protox protox-parse quote regex regex-automata regex-syntax serde serde_core serde_derive serde_json signal-hook-registry smallvec socket2 syn tempfile thiserror thiserror-impl unicase unicode-width windows-link windows-sys",
  "MIT OR Apache-2.0 OR LGPL-2.1-or-later": "r-efi",
  "Unlicense OR MIT": "aho-corasick memchr",
  Zlib: "foldhash",
};
