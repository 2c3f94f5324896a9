//! Runs a command inside an emulated path, with another at the far end:
//!
//! `path --rate 12Mbit/s --delay 28ms [--loss 0.4%] [--queue droptail:packets=50] [--log FILE] [--user] [--packet]
//! [--outer | --server 'COMMAND'] -- COMMAND…`
//!
//! Both directions are alike. The command's environment has the far end's address in `TRIALWISE_PEER`. With `--outer` the
//! far end is the network that this runs in.

#![expect(clippy::print_stderr, reason = "a program for people")]

use std::error::Error;
use std::process::{Child, ExitCode, ExitStatus};
use std::{env, fs};

use trialwise_emulator::{
    DeviceChoice, End, LATENESS_BOUND, NamespaceSettings, OuterPath, PacketLog, Path, PathSettings, Report,
};
use trialwise_link::LinkSpec;
use trialwise_units::Seed;

#[derive(Default)]
struct Options {
    pairs: Vec<(String, String)>,
    seed: u64,
    server: Option<String>,
    log: Option<String>,
    user: bool,
    outer: bool,
    device: DeviceChoice,
    command: Vec<String>,
}

fn read_options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} lacks its value"));
        match argument.as_str() {
            "--" => break,
            "--server" => options.server = Some(value()?),
            "--log" => options.log = Some(value()?),
            "--seed" => options.seed = value()?.parse()?,
            "--user" => options.user = true,
            "--outer" => options.outer = true,
            "--packet" => options.device = DeviceChoice::Packet,
            _ => match argument.strip_prefix("--") {
                Some(key) => options.pairs.push((key.to_owned(), value()?)),
                None => return Err(format!("put -- before the command {argument}").into()),
            },
        }
    }
    options.command = arguments.collect();
    if options.command.is_empty() { Err("no command after --".into()) } else { Ok(options) }
}

fn settings(options: &Options) -> Result<PathSettings, Box<dyn Error>> {
    let pairs = options.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let read_file = |path: &str| fs::read_to_string(path).map_err(|error| error.to_string());
    let link = LinkSpec::from_pairs(pairs, &read_file)?;
    let mut namespaces = NamespaceSettings { device: options.device, ..NamespaceSettings::default() };
    namespaces.user_namespace |= options.user;
    let seed = Seed::new(options.seed);
    Ok(PathSettings { forward: link.clone(), backward: link, seed, namespaces })
}

fn run_between(options: &Options, log: Option<PacketLog>) -> Result<(ExitStatus, Report), Box<dyn Error>> {
    let path = Path::open(&settings(options)?, log)?;
    let server = start_server(&path, options)?;
    let status = path.command(End::Sender, &options.command[0])?.args(&options.command[1..]).status()?;
    let report = path.close()?;
    if let Some(mut server) = server {
        server.wait()?;
    }
    Ok((status, report))
}

fn run_inside(options: &Options, log: Option<PacketLog>) -> Result<(ExitStatus, Report), Box<dyn Error>> {
    let path = OuterPath::open(&settings(options)?, log)?;
    let status = path.command(&options.command[0])?.args(&options.command[1..]).status()?;
    Ok((status, path.close()?))
}

fn start_server(path: &Path, options: &Options) -> Result<Option<Child>, Box<dyn Error>> {
    let Some(server) = &options.server else { return Ok(None) };
    Ok(Some(path.command(End::Receiver, "sh")?.args(["-c", server]).spawn()?))
}

fn tell(report: &Report) {
    for (name, way) in [("forward", &report.forward), ("backward", &report.backward)] {
        let (arrived, delivered, dropped, held) = (way.arrived, way.delivered, way.dropped, way.held);
        eprintln!(
            "{name}: {} packets arrived ({}), {} delivered ({}), {} dropped, {} held; {} overrun, {} refused",
            arrived.packets,
            arrived.bytes,
            delivered.packets,
            delivered.bytes,
            dropped.packets,
            held.packets,
            way.overrun,
            way.refused
        );
        eprintln!("  late: {:?}", way.lateness);
    }
    eprintln!(
        "{:?}, {:?}, {:.1} % of a core, priority yielded {} times, unseen: {:?}",
        report.device,
        report.priority,
        report.processor_share() * 100.0,
        report.yielded,
        report.unseen
    );
    match report.bottleneck(LATENESS_BOUND) {
        Some(bottleneck) => eprintln!("not valid: {bottleneck}"),
        None => eprintln!("the emulator kept up"),
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = read_options()?;
    let log = options.log.as_deref().map(|path| PacketLog::create(path.as_ref())).transpose()?;
    let (status, report) =
        if options.outer { run_inside(&options, log)? } else { run_between(&options, log)? };
    tell(&report);
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
