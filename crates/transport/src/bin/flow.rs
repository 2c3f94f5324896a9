//! The flow programs by themselves, for tests and measurements; people start them as `python -m trialwise.schemes.flow`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let code = trialwise_transport::program::main(&arguments);
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}
