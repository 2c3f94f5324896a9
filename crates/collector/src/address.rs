//! Where a PostgreSQL server is: a URL, with `sslmode` and `sslrootcert` as libpq documents them (PostgreSQL's manual, "SSL
//! Support" of libpq).

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where libpq has the certificates that are trusted, below the home folder.
const ROOTS: &str = ".postgresql/root.crt";

/// `sslmode`: whether to speak inside TLS, and what the server must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In the open.
    Disable,
    /// In the open, and inside TLS where that is refused.
    Allow,
    /// Inside TLS, and in the open where that is refused.
    Prefer,
    /// Inside TLS. Where certificates are given, as `VerifyCa`.
    Require,
    /// Inside TLS; the certificate is signed by one that is trusted.
    VerifyCa,
    /// The same, and it has the server's name.
    VerifyFull,
}

impl Mode {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// Whether to connect inside TLS, at each attempt.
    pub(crate) const fn attempts(self) -> &'static [bool] {
        match self {
            Self::Disable => &[false],
            Self::Allow => &[false, true],
            Self::Prefer => &[true, false],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[true],
        }
    }

    /// Whether there must be certificates to trust.
    pub(crate) const fn needs_roots(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

/// A URL that was read.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) mode: Mode,
    /// The certificates that are trusted, a file in PEM.
    pub(crate) roots: Option<PathBuf>,
}

impl Address {
    /// Reads a URL `postgresql://…`.
    ///
    /// # Errors
    /// What is wrong in it. Nothing of the URL that may be a password is in that.
    pub(crate) fn read(url: &str) -> Result<Self, String> {
        let (mut rest, mut mode, mut roots) = (url.to_owned(), Mode::Prefer, None);
        if let Some((before, parameters)) = split_parameters(url) {
            let mut kept = Vec::new();
            for parameter in parameters.split('&') {
                match parameter.split_once('=') {
                    Some(("sslmode", text)) => {
                        mode = Mode::read(text).ok_or(
                            "its sslmode is none of disable, allow, prefer, require, verify-ca, verify-full",
                        )?;
                    }
                    Some(("sslrootcert", text)) => roots = Some(path(text)?),
                    _ => kept.push(parameter),
                }
            }
            rest = if kept.is_empty() { before.to_owned() } else { format!("{before}?{}", kept.join("&")) };
        }
        let mut config: Config = rest.parse().map_err(|error| explain(&error))?;
        check_hosts(&mut config)?;
        if !config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
            mode = Mode::Disable; // libpq ignores it on a Unix socket
        }
        let roots = roots.or_else(usual_roots).filter(|_| mode != Mode::Disable);
        Ok(Self { config, mode, roots })
    }
}

/// Cuts a URL where its parameters begin; what looks so inside a password does not count.
fn split_parameters(url: &str) -> Option<(&str, &str)> {
    let host = url.find('@').map_or(0, |at| at + 1);
    let begin = host + url[host..].find('?')?;
    Some((&url[..begin], &url[begin + 1..]))
}

fn path(text: &str) -> Result<PathBuf, String> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "its sslrootcert is no text in UTF-8")?;
    if text == "system" {
        return Err(
            "sslrootcert=system is not supported; give the file in which your system has them, such as \
                    /etc/ssl/certs/ca-certificates.crt"
                .to_owned(),
        );
    }
    Ok(PathBuf::from(text.into_owned()))
}

/// What the client says of parameters: it names them, and tells no values.
fn explain(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string()).replace('`', "")
}

/// Sees what the client would only see at each attempt to connect.
fn check_hosts(config: &mut Config) -> Result<(), String> {
    if config.get_hosts().is_empty() {
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
    let (hosts, addresses, ports) =
        (config.get_hosts().len(), config.get_hostaddrs().len(), config.get_ports().len());
    if hosts == 0 {
        return Err("it names no host".to_owned());
    }
    if addresses > 0 && addresses != hosts {
        return Err("it has not as many hostaddr as hosts".to_owned());
    }
    if ports > 1 && ports != hosts {
        return Err("it has not as many ports as hosts".to_owned());
    }
    let strange = |host: &Host| matches!(host, Host::Tcp(name) if name.is_empty() || name.contains('@'));
    if config.get_hosts().iter().any(strange) {
        return Err("a host in it is none; in a password, write @ as %40 and / as %2F".to_owned());
    }
    Ok(())
}

fn usual_roots() -> Option<PathBuf> {
    Some(std::env::home_dir()?.join(ROOTS)).filter(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_tls_is_taken_out_of_the_url() {
        let url = "postgresql://me:a?b/c@db.example:5433/d?sslmode=verify-full&connect_timeout=7&sslrootcert=/a%20b.pem";
        let address = Address::read(url).unwrap();
        assert_eq!((address.mode, address.roots), (Mode::VerifyFull, Some("/a b.pem".into())));
        assert_eq!(address.config.get_hosts(), [Host::Tcp("db.example".into())]);
        assert_eq!(address.config.get_password(), Some(&b"a?b/c"[..]));
        assert_eq!(address.config.get_connect_timeout(), Some(&std::time::Duration::from_secs(7)));
        assert_eq!(Address::read("postgresql://h").unwrap().mode, Mode::Prefer);
        let socket = Address::read("postgresql:///d?host=/run/postgresql&sslmode=require").unwrap();
        assert_eq!(socket.mode, Mode::Disable, "there is no TLS on a Unix socket");
        let numbered = Address::read("postgresql://?hostaddr=127.0.0.1").unwrap();
        assert_eq!(numbered.config.get_hosts(), [Host::Tcp("127.0.0.1".into())]);
    }

    #[test]
    fn a_url_that_cannot_be_read_is_explained_without_its_password() {
        for (rest, said) in [
            ("h:many/d", "port"),
            ("", "no host"),
            ("/d", "no host"),
            ("h/d?sslmode=never", "sslmode"),
            ("h/d?sslrootcert=system", "ca-certificates.crt"),
            ("h/d?nonsense=secret", "nonsense"),
            ("h/d?password", "unterminated"),
            ("h/d?channel_binding=secret", "channel_binding"),
            ("a,b:1,c:2/d?port=3", "ports"),
            ("a,b/d?hostaddr=127.0.0.1", "hostaddr"),
            ("secret@h/d", "%40"),
        ] {
            let url = format!("postgresql://me:secret@{rest}");
            let Err(error) = Address::read(&url) else { panic!("{url}") };
            assert!(error.contains(said), "{url}: {error}");
            assert!(!error.contains("secret"), "{url}: {error}");
        }
    }
}
