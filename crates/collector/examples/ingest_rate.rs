//! Rows per CPU-second from sockets into the spool, and through it into stores: `ingest_rate [ROWS [STORE…]]`, where a
//! store is `sqlite`, `parquet` (both below the folder for temporary files) or `postgresql://…`.
//!
//! A PostgreSQL server's own CPU time is not counted. The clients only copy bytes made before; what is counted is the CPU time of the collector's own threads, by name.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use trialwise_collector::{Collector, Config, Store};
use trialwise_streams::protocol::{Content, Encoder, Schema, Value};

const SCHEMA: &str = "1 app_m a:int32 b:int32 c:int32";

/// Binary rows of three int32 with their header.
fn stream(sender: usize, rows: i32) -> Vec<u8> {
    let mut bytes = format!(
        "protocol: 5\ndomain: rate\nstart-time: 1000\nsender-id: s{sender}\napp-name: app\nschema: {SCHEMA}\ncontent: binary\n\n"
    )
    .into_bytes();
    let (encoder, schema): (_, Schema) = (Encoder::new(Content::Binary), SCHEMA.parse().expect("a schema"));
    for number in 0..rows {
        let values = [Value::Int32(number), Value::Int32(-number), Value::Int32(number ^ 0x55)];
        let time = f64::from(number) * 1e-6;
        encoder.write_row(&mut bytes, &schema, number.into(), time, values.into_iter()).expect("it fits");
    }
    bytes
}

/// CPU seconds (user and system) of the collector's threads.
fn cpu_seconds() -> std::io::Result<BTreeMap<String, f64>> {
    let mut seconds = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let name = std::fs::read_to_string(task.join("comm"))?.trim().to_owned();
        if name.starts_with("collect-") {
            let text = std::fs::read_to_string(task.join("schedstat"))?;
            let nanoseconds: f64 = text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
            *seconds.entry(name).or_default() += nanoseconds / 1e9;
        }
    }
    Ok(seconds)
}

fn store(name: &str, folder: &Path) -> Result<Store, Box<dyn std::error::Error>> {
    Ok(match name {
        "sqlite" => Store::Sqlite(folder.to_owned()),
        "parquet" => Store::Parquet(folder.to_owned()),
        other => other.parse()?,
    })
}

#[expect(clippy::print_stdout, reason = "a program")]
fn measure(folder: &Path, name: &str, clients: usize, rows: i32) -> Result<(), Box<dyn std::error::Error>> {
    let streams: Vec<_> = (0..clients).map(|sender| stream(sender, rows)).collect();
    let folder = folder.join(format!("{}{clients}", name.split(':').next().unwrap_or(name)));
    let mut config = Config::new(store(name, &folder)?);
    config.spool = folder.join(".spool");
    config.listen.set_port(0);
    let collector = Collector::start(config)?;
    let (address, start) = (collector.address(), Instant::now());
    std::thread::scope(|scope| {
        for bytes in &streams {
            scope.spawn(move || TcpStream::connect(address)?.write_all(bytes));
        }
    });
    while collector.counters().connections < clients as u64 || collector.counters().open > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let spooled = start.elapsed().as_secs_f64();
    if !collector.wait_loaded(Duration::from_secs(600)) {
        return Err("not loaded in ten minutes".into());
    }
    let loaded = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds()?; // the threads of collectors stopped before are gone
    let all = f64::from(rows) * clients as f64;
    let spool: f64 = cpu.iter().filter(|(name, _)| !name.ends_with("load")).map(|(_, seconds)| seconds).sum();
    let total: f64 = cpu.values().sum();
    println!("{name}, {clients} client(s), {all} rows; CPU seconds {cpu:.3?}");
    println!("  spool   {:9.0} rows/CPU-s, {:9.0} rows/s", all / spool, all / spooled);
    println!("  store   {:9.0} rows/CPU-s, {:9.0} rows/s end to end", all / total, all / loaded);
    assert_eq!(collector.counters().rows as f64, all);
    let _ = collector.stop(Duration::from_secs(2));
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(2_000_000), |rows| rows.parse())?;
    let mut stores: Vec<_> = std::env::args().skip(2).collect();
    if stores.is_empty() {
        stores = vec!["sqlite".to_owned(), "parquet".to_owned()];
    }
    let folder = std::env::temp_dir().join(format!("trialwise-ingest-{}", std::process::id()));
    for store in &stores {
        for clients in [1, 4] {
            measure(&folder, store, clients, rows / i32::try_from(clients)?)?;
        }
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
