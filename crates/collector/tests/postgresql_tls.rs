//! TLS to PostgreSQL: what each of libpq's modes trusts, and what is said where it does not.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::certificates::signed;
use common::process::free_port;
use common::stores::{PostgreSqlServer, config_for, counted, select, start_for};
use common::{finish, header, scratch, send, wait_for};
use trialwise_collector::{Collector, CollectorError, Store};

/// Brings a row over a connection; whether that was inside TLS, or why there was none.
fn bring(server: &PostgreSqlServer, url: &str) -> Result<bool, String> {
    let store = Store::PostgreSql(url.to_owned());
    let collector = match Collector::start(config_for(store, &scratch("postgresql_tls_spool"))) {
        Err(CollectorError::Store(text)) => return Err(text),
        started => started.unwrap(),
    };
    send(&collector, (header("d", "s", &[]) + "1\t1\t1\t7\n").as_bytes());
    wait_for("a row", || collector.counters().rows == 1);
    let sql = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'trialwise collector'";
    let inside = select(&server.url("postgres"), sql);
    finish(collector);
    wait_for("the end of the connection", || select(&server.url("postgres"), sql).is_empty());
    Ok(inside == [[Some("t".to_owned())]])
}

#[track_caller]
fn assert_refused(found: Result<bool, String>, said: &[&str]) {
    let text = found.unwrap_err();
    assert!(said.iter().all(|said| text.contains(said)), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn each_mode_trusts_whom_libpq_says() {
    let Some(mut server) = PostgreSqlServer::start("tls") else { return };
    let (folder, port) = (scratch("postgresql_tls"), free_port());
    let Some((shown, key)) = signed(&folder, "authority", "DNS:localhost") else { return };
    signed(&folder, "other", "DNS:elsewhere").unwrap();
    server.listen(port, Some((&shown, &key)));
    let bring = |host: &str, parameters: &str| {
        bring(&server, &format!("postgresql://postgres@{host}:{port}/postgres?{parameters}"))
    };
    let roots = |file: &Path| format!("sslrootcert={}", file.display());
    let (right, wrong) = (roots(&folder.join("authority.pem")), roots(&folder.join("other.pem")));

    assert_eq!(bring("localhost", &format!("sslmode=verify-full&{right}")), Ok(true));
    assert_eq!(bring("127.0.0.1", &format!("sslmode=verify-ca&{right}")), Ok(true));
    assert_eq!(bring("localhost", &format!("sslmode=verify-full&{}", roots(&shown))), Ok(true));
    let other_name = bring("127.0.0.1", &format!("sslmode=verify-full&{right}"));
    assert_refused(other_name, &["not valid for name", "subjectAltName"]);
    let own = bring("127.0.0.1", &format!("sslmode=verify-full&{}", roots(&shown)));
    assert_refused(own, &["not valid for name", "subjectAltName"]);
    for mode in ["require", "verify-ca", "verify-full"] {
        let unknown = bring("localhost", &format!("sslmode={mode}&{wrong}"));
        assert_refused(unknown, &["UnknownIssuer", "no certificate in sslrootcert has signed"]);
    }
    assert_refused(bring("localhost", "sslmode=verify-ca"), &["give sslrootcert=FILE"]);
    assert_refused(bring("localhost", "sslmode=verify-full&sslrootcert=/nowhere.pem"), &["/nowhere.pem"]);

    assert_eq!(bring("127.0.0.1", "sslmode=require"), Ok(true));
    assert_eq!(bring("127.0.0.1", ""), Ok(true), "prefer");
    assert_eq!(bring("localhost", &format!("sslmode=prefer&{wrong}")), Ok(false), "falls back");
    assert_eq!(bring("localhost", "sslmode=allow"), Ok(false));
    assert_eq!(bring("localhost", "sslmode=disable&sslrootcert=/nowhere.pem"), Ok(false));
    assert_eq!(counted(&Store::PostgreSql(server.url("postgres")), "d", "app_m").0, 8);
}

#[test]
fn what_a_server_asks_for_decides_too() {
    let Some(mut server) = PostgreSqlServer::start("tls_rules") else { return };
    let (folder, port) = (scratch("postgresql_tls_rules"), free_port());
    let Some((shown, key)) = signed(&folder, "authority", "DNS:localhost") else { return };
    for user in ["inside", "outside"] {
        select(&server.url("postgres"), &format!("CREATE ROLE {user} SUPERUSER LOGIN PASSWORD 'secret'"));
    }
    let rules = "local all all trust\nhostssl all inside 127.0.0.1/32 scram-sha-256\n\
                 hostnossl all outside 127.0.0.1/32 scram-sha-256\n";
    fs::write(server.folder().join("data/pg_hba.conf"), rules).unwrap();
    server.listen(port, Some((&shown, &key)));
    let url = |user: &str, parameters: &str| {
        format!("postgresql://{user}:secret@localhost:{port}/postgres?{parameters}")
    };
    let bound = "sslmode=require&channel_binding=require";
    assert_eq!(bring(&server, &url("inside", bound)), Ok(true), "the password is bound to the certificate");
    assert_eq!(bring(&server, &url("inside", "sslmode=allow")), Ok(true), "the second attempt");
    assert_eq!(bring(&server, &url("outside", "sslmode=prefer")), Ok(false), "the second attempt");
    assert_refused(bring(&server, &url("inside", "sslmode=disable")), &["no encryption", "sslmode=require"]);
    assert_refused(bring(&server, &url("outside", "sslmode=require")), &["SSL encryption"]);
    let wrong = url("inside", "sslmode=require").replace("secret", "wrong");
    assert_refused(bring(&server, &wrong), &["password authentication failed", "PGPASSWORD"]);

    server.listen(port, None);
    for mode in ["require", "verify-full"] {
        let parameters = format!("sslmode={mode}&sslrootcert={}/authority.pem", folder.display());
        let refused = bring(&server, &url("outside", &parameters));
        assert_refused(refused, &["server does not support TLS", "ssl = on"]);
    }
    assert_eq!(bring(&server, &url("outside", "sslmode=prefer")), Ok(false));
    assert_eq!(
        bring(&server, &format!("{}&sslmode=require", server.url("postgres"))),
        Ok(false),
        "a Unix socket"
    );
}

/// A server that is there no more may come back with another certificate: rows wait until it is trusted.
#[test]
fn a_certificate_that_is_not_trusted_any_more_puts_rows_off() {
    let Some(mut server) = PostgreSqlServer::start("tls_later") else { return };
    let (folder, port) = (scratch("postgresql_tls_later"), free_port());
    let Some((shown, key)) = signed(&folder, "authority", "DNS:localhost") else { return };
    let (strange, strange_key) = signed(&folder, "other", "DNS:elsewhere").unwrap();
    server.listen(port, Some((&shown, &key)));
    let parameters = format!("sslmode=verify-full&sslrootcert={}/authority.pem", folder.display());
    let store = Store::PostgreSql(format!("postgresql://postgres@localhost:{port}/postgres?{parameters}"));
    let collector = start_for(&store, &scratch("postgresql_tls_later_spool"));
    send(&collector, (header("d", "s", &[]) + "1\t1\t1\t7\n").as_bytes());
    wait_for("a row", || collector.counters().rows == 1);
    server.listen(port, Some((&strange, &strange_key)));
    send(&collector, (header("d", "s", &[]) + "1\t1\t2\t8\n").as_bytes());
    let said = || collector.troubles().get("d").cloned().unwrap_or_default();
    wait_for("a trouble", || said().contains("has signed"));
    server.listen(port, Some((&shown, &key)));
    assert_eq!(finish(collector).rows, 2);
    assert_eq!(counted(&Store::PostgreSql(server.url("postgres")), "d", "app_m"), (2, 2, 15));
}
