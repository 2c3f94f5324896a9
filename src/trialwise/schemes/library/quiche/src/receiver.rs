//! The receiver: reads what comes, and drops it.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use anyhow::{Context, Result, anyhow};
use quiche::Connection;

use crate::endpoint::{self, Endpoint, Next};

/// Takes one flow after the other.
pub fn receive(port: u16, certificate: &str, key: &str) -> Result<()> {
    let mut config = endpoint::config()?;
    config
        .load_cert_chain_from_pem_file(certificate)
        .map_err(|_| anyhow!("{certificate} is no certificate"))?;
    config.load_priv_key_from_pem_file(key).map_err(|_| anyhow!("{key} is no key of {certificate}"))?;
    // A socket of IPv6 takes IPv4 too; a machine without IPv6 has none.
    let socket = endpoint::socket(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))
        .or_else(|_| endpoint::socket(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))))?;
    println!("ready");
    std::io::stdout().flush()?;
    loop {
        let peer = first_packet(&socket)?;
        let connection =
            quiche::accept(&endpoint::connection_id()?, None, socket.local_addr()?, peer, &mut config)?;
        Endpoint::new(socket.try_clone()?, connection)?.run(drop_all).context("the flow ended")?;
    }
}

/// Waits for a packet that begins a connection, which stays in the socket; returns who sent it.
fn first_packet(socket: &UdpSocket) -> Result<SocketAddr> {
    let mut packet = [0; 65_535];
    loop {
        endpoint::wait(socket, false, None)?;
        let (length, peer) = socket.peek_from(&mut packet)?;
        match quiche::Header::from_slice(&mut packet[..length], quiche::MAX_CONN_ID_LEN) {
            Ok(header) if header.ty == quiche::Type::Initial => return Ok(peer),
            _ => _ = socket.recv_from(&mut packet)?,
        }
    }
}

fn drop_all(connection: &mut Connection) -> Result<Next> {
    let mut bytes = [0; 65_535];
    while let Some(stream) = connection.stream_readable_next() {
        while connection.stream_recv(stream, &mut bytes).is_ok() {}
    }
    Ok(Next::Turn(None))
}
