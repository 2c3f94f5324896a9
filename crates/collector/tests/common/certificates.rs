//! Certificates made by openssl.
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether openssl did what it was told; says on standard error where there is none.
fn openssl(folder: &Path, words: &str) -> bool {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(words.split_whitespace()).stderr(Stdio::null());
    let done = command.status().is_ok_and(|status| status.success());
    if !done {
        eprintln!("skipped: there is no openssl to make certificates with");
    }
    done
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Makes a certificate of its own for a name, and its key.
pub fn own(folder: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
    let made = format!(
        "req -x509 {KEY} -days 2 -subj /CN=test -addext subjectAltName={name} -keyout {name}.key -out {name}.pem"
    );
    openssl(folder, &made).then(|| (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key"))))
}

/// Makes one that an authority signs, `NAME.pem` and `NAME.key`, and the authority's, `AUTHORITY.pem`, unless it is there.
pub fn signed(folder: &Path, authority: &str, name: &str) -> Option<(PathBuf, PathBuf)> {
    let made =
        format!("req -x509 {KEY} -days 2 -subj /CN={authority} -keyout {authority}.key -out {authority}.pem");
    if !folder.join(format!("{authority}.pem")).exists() && !openssl(folder, &made) {
        return None;
    }
    fs::write(folder.join("extensions"), format!("subjectAltName={name}\n")).unwrap();
    let asked = format!("req {KEY} -subj /CN=server -keyout {name}.key -out {name}.csr");
    let signed = format!(
        "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 2 \
         -extfile extensions -out {name}.pem"
    );
    (openssl(folder, &asked) && openssl(folder, &signed))
        .then(|| (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key"))))
}
