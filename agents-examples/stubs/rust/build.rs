//! Makes the Rust code of the contract at each build: protox reads proto/, so no protoc is needed.
use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../proto");
    let service = proto.join("drover/v1/agent_service.proto");
    println!("cargo::rerun-if-changed={}", proto.join("drover").display());
    let files = protox::compile([service], [proto.clone(), proto.join("vendor")])?;
    let code = tonic_prost_build::configure().build_server(false).include_file("contract.rs");
    code.compile_fds(files)?;
    Ok(())
}
