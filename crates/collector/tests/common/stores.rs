//! Reading back what any store holds, and a PostgreSQL server of its own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use rusqlite::types::ValueRef;
use trialwise_collector::{Collector, Config, Store};

/// The rows of every table of a domain, in order, each value in a form that all stores share.
pub type Tables = BTreeMap<String, Vec<Vec<String>>>;

pub fn config_for(store: Store, spool: &Path) -> Config {
    let mut config = Config::new(store);
    config.listen.set_port(0);
    config.spool = spool.to_owned();
    config.commit = Duration::from_millis(20);
    config
}

pub fn start_for(store: &Store, spool: &Path) -> Collector {
    Collector::start(config_for(store.clone(), spool)).unwrap()
}

/// The tables of a domain. The server's time and the order's number are left out.
pub fn tables(store: &Store, domain: &str) -> Tables {
    match store {
        Store::Sqlite(folder) => sqlite_tables(&folder.join(format!("{domain}.sq3"))),
        Store::Parquet(folder) => parquet_tables(&folder.join(domain)),
        Store::PostgreSql(url) => postgresql_tables(url, domain),
        other => panic!("{other:?}"),
    }
}

/// How many rows a table has, how many values its first field, and the sum of them.
pub fn counted(store: &Store, domain: &str, table: &str) -> (usize, usize, i64) {
    let all = tables(store, domain);
    let Some(rows) = all.get(table) else { return (0, 0, 0) };
    let mut values: Vec<i64> = rows.iter().map(|row| row[3].parse().unwrap()).collect();
    let sum = values.iter().sum();
    values.sort_unstable();
    values.dedup();
    (rows.len(), values.len(), sum)
}

fn number(value: f64) -> String {
    // SQLite has neither NaN nor a zero below zero.
    if value.is_nan() { "NULL".to_owned() } else { format!("{:e}", value + 0.0) }
}

fn text(bytes: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"))
}

/// The elements of a vector, however it is written.
fn elements(text: &str) -> Vec<&str> {
    let parts = text.split([' ', ',', '[', ']', '{', '}', '\'']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part {
            "t" | "true" => "1",
            "f" | "false" => "0",
            other => other,
        })
        .collect()
}

/// Whether two elements are the same; of a double, SQLite's text has 15 digits.
fn same_element(found: &str, wanted: &str) -> bool {
    let (exact, rounded): (f64, f64) = (found.parse().unwrap(), wanted.parse().unwrap());
    let near = (exact - rounded).abs() <= 1e-14 * exact.abs() || exact > 1.797e308 && rounded.is_infinite();
    let whole = found.parse::<i128>().is_ok() && wanted.parse::<i128>().is_ok();
    found == wanted || !whole && (near || exact == rounded || exact.is_nan() && rounded.is_nan())
}

fn own(name: &str) -> bool {
    name == "oml_tuple_id" || name == "oml_ts_server"
}

fn sqlite_tables(path: &Path) -> Tables {
    let database = rusqlite::Connection::open(path).unwrap();
    let mut names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let names = names.into_iter().filter(|name| !name.starts_with("_trialwise"));
    names.map(|name| (name.clone(), sqlite_rows(&database, &name))).collect()
}

fn sqlite_rows(database: &rusqlite::Connection, table: &str) -> Vec<Vec<String>> {
    let mut columns =
        database.prepare(&format!("SELECT name, type FROM pragma_table_info('{table}')")).unwrap();
    let columns: Vec<(String, String)> =
        columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut select = database.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY rowid")).unwrap();
    let rows = select.query_map([], |row| {
        let kept = columns.iter().enumerate().filter(|(_, (name, _))| !own(name));
        kept.map(|(index, (_, kind))| Ok(sqlite_value(row.get_ref(index)?, kind))).collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn sqlite_value(value: ValueRef<'_>, kind: &str) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => number(value),
        ValueRef::Blob(bytes) => format!("x{bytes:02x?}"),
        ValueRef::Text(bytes) if kind == "UNSIGNED BIGINT" => {
            let digits = std::str::from_utf8(&bytes[2..]).unwrap();
            u64::from_str_radix(digits, 16).unwrap().to_string()
        }
        ValueRef::Text(bytes) => text(bytes),
    }
}

fn parquet_tables(folder: &Path) -> Tables {
    let names = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let names = names.filter(|entry| entry.file_type().unwrap().is_dir());
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    let names = names.filter(|name| !name.starts_with("_trialwise"));
    names.map(|name| (name.clone(), parquet_rows(&folder.join(&name)))).collect()
}

/// The parts of a table in order.
pub fn parts(folder: &Path) -> Vec<PathBuf> {
    let parts = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let visible = |path: &PathBuf| !path.file_name().unwrap().to_str().unwrap().starts_with('.');
    let mut parts: Vec<_> = parts.filter(visible).collect();
    parts.sort();
    parts
}

pub fn parquet_rows(folder: &Path) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for path in parts(folder) {
        let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let kept = row.get_column_iter().filter(|(name, _)| !own(name));
            rows.push(kept.map(|(name, field)| parquet_value(name, field)).collect());
        }
    }
    rows
}

fn parquet_value(name: &str, field: &Field) -> String {
    match field {
        Field::Null => "NULL".to_owned(),
        Field::ULong(0) if name == "g" => "NULL".to_owned(), // the guid of the recorded streams
        Field::Bool(value) => u8::from(*value).to_string(),
        Field::Int(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => number(*value),
        Field::Str(value) => text(value.as_bytes()),
        Field::Bytes(bytes) => format!("x{:02x?}", bytes.data()),
        Field::ListInternal(list) => {
            let elements = list.elements().iter().map(|field| match field {
                Field::Double(value) => format!("{value:e}"),
                other => parquet_value("", other),
            });
            format!("'{}'", elements.collect::<Vec<_>>().join(" "))
        }
        other => panic!("{other:?}"),
    }
}

fn postgresql_tables(url: &str, domain: &str) -> Tables {
    let sql = format!(
        "SELECT relname FROM pg_class WHERE relnamespace = '\"{domain}\"'::regnamespace AND relkind = 'r' \
         AND relname NOT LIKE '\\_trialwise%'"
    );
    let names = select(url, &sql).into_iter().map(|row| row[0].clone().unwrap());
    names.map(|name| (name.clone(), postgresql_rows(url, domain, &name))).collect()
}

fn postgresql_rows(url: &str, domain: &str, table: &str) -> Vec<Vec<String>> {
    let sql = format!(
        "SELECT attname, format_type(atttypid, -1) FROM pg_attribute WHERE attnum > 0 \
         AND attrelid = '\"{domain}\".\"{table}\"'::regclass ORDER BY attnum"
    );
    let columns = select(url, &sql);
    let columns: Vec<_> =
        columns.iter().map(|row| (row[0].as_deref().unwrap(), row[1].as_deref().unwrap())).collect();
    let order = if columns[0].0 == "oml_tuple_id" { "oml_tuple_id" } else { "id" };
    let rows = select(url, &format!("SELECT * FROM \"{domain}\".\"{table}\" ORDER BY {order}"));
    let value = |(&(name, kind), value): (&(&str, &str), &Option<String>)| {
        (!own(name))
            .then(|| value.as_deref().map_or("NULL".to_owned(), |value| postgresql_value(value, kind)))
    };
    rows.iter().map(|row| columns.iter().zip(row).filter_map(value).collect()).collect()
}

fn postgresql_value(value: &str, kind: &str) -> String {
    match kind {
        "double precision" => number(value.parse().unwrap()),
        "text" => text(value.as_bytes()),
        "boolean" => u8::from(value == "t").to_string(),
        "bytea" => {
            let digits = value.strip_prefix("\\x").unwrap().as_bytes().chunks(2);
            let bytes =
                digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
            format!("x{:02x?}", bytes.collect::<Vec<_>>())
        }
        kind if kind.ends_with("[]") => format!("'{value}'"),
        _ => value.to_owned(),
    }
}

/// The rows of a query at a PostgreSQL server, as text.
pub fn select(url: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    try_select(url, sql).unwrap()
}

pub fn try_select(url: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        let messages = client.simple_query(sql).await?;
        let rows = messages.into_iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    })
}

/// Asserts that two stores hold the same, vectors compared by their elements.
pub fn assert_same(found: &Tables, wanted: &Tables, what: &str) -> usize {
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{what}");
    let mut rows = 0;
    for (table, wanted) in wanted {
        let found = &found[table];
        assert_eq!(found.len(), wanted.len(), "{what} {table}");
        for (found, wanted) in found.iter().zip(wanted) {
            assert_eq!(found.len(), wanted.len(), "{what} {table}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(same(found, wanted), "{what} {table}: {found} is not {wanted}");
            }
        }
        rows += wanted.len();
    }
    rows
}

fn same(found: &str, wanted: &str) -> bool {
    let is_vector = wanted.starts_with("'[ ") || wanted == "''";
    let same_elements = || {
        let (found, wanted) = (elements(found), elements(wanted));
        found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(found, wanted)| same_element(found, wanted))
    };
    found == wanted || is_vector && same_elements()
}

/// A PostgreSQL server in a folder of its own, on a Unix socket there.
pub struct PostgreSqlServer {
    programs: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    port: u16,
    child: Option<Child>,
}

/// The programs of the newest server, as Debian has them.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.map(|entry| entry.unwrap().path().join("bin"));
    versions.filter(|folder| folder.join("initdb").exists()).max_by_key(|folder| {
        let version = folder.parent().unwrap().file_name().unwrap().to_str().unwrap();
        version.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>()
    })
}

impl PostgreSqlServer {
    /// Starts one, or says on standard error why there is none.
    pub fn start(name: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("skipped: no PostgreSQL in /usr/lib/postgresql; apt-get install postgresql");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("trialwise-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        if is_root() {
            assert!(Command::new("chown").arg("postgres").arg(&folder).status().unwrap().success());
        }
        let mut server = Self {
            programs,
            folder,
            settings: vec!["listen_addresses=".to_owned()],
            port: 5432,
            child: None,
        };
        let arguments =
            ["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
        let output = server.command("initdb").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        server.launch();
        Some(server)
    }

    /// A server's program as an ordinary user: it refuses root.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub fn launch(&mut self) {
        let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
        let mut command = self.command("postgres");
        command.args(["-D", "data", "-c", "fsync=off", "-c", "shared_buffers=16MB"]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        command.arg("-k");
        self.child = Some(command.arg(&self.folder).stderr(Stdio::null()).spawn().unwrap());
        super::wait_for("PostgreSQL", || try_select(&self.url("postgres"), "SELECT 1").is_ok());
    }

    /// Starts it again to listen at a port of loopback, with TLS where there are a certificate and its key.
    pub fn listen(&mut self, port: u16, identity: Option<(&Path, &Path)>) {
        self.settings = vec!["listen_addresses=127.0.0.1".to_owned(), format!("port={port}")];
        if let Some((certificate, key)) = identity {
            for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
                let place = self.folder.join("data").join(name);
                fs::copy(from, &place).unwrap();
                fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
                if is_root() {
                    assert!(Command::new("chown").arg("postgres").arg(&place).status().unwrap().success());
                }
            }
            self.settings.push("ssl=on".to_owned());
        }
        self.port = port;
        self.kill();
        self.launch();
    }

    /// Kills the server and all its processes, which end when it is gone.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // A new one may start when the last of the old has let go of their memory.
        std::thread::sleep(Duration::from_millis(300));
    }

    /// Stops all processes of the server where they are, or lets them go on.
    pub fn pause(&self, pause: bool) {
        let server = self.child.as_ref().unwrap().id().to_string();
        let children = Command::new("pgrep").args(["-P", &server]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let signal = if pause { "-STOP" } else { "-CONT" };
        let status = Command::new("kill").arg(signal).arg(&server).args(children.split_whitespace()).status();
        assert!(status.unwrap().success());
    }

    pub fn url(&self, user: &str) -> String {
        format!("postgresql:///postgres?host={}&port={}&user={user}", self.folder.display(), self.port)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for PostgreSqlServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0\t")
}
