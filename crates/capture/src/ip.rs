//! Headers of IP (RFC 791, RFC 8200), TCP (RFC 9293) and UDP (RFC 768).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::headers::{double_word, word};

/// A header of IP. What version 6 lacks is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// 4 or 6.
    pub version: u8,
    /// Type of service, or traffic class.
    pub service: u8,
    /// Bytes of the whole packet; 0 where it is larger than the field (as with segmentation offload).
    pub length: u32,
    /// Bytes of the header, with version 6's extensions.
    pub header: u32,
    /// Of version 4, and of version 6's fragments.
    pub identification: u32,
    /// Flags and offset of a fragment, as version 4 has them in 16 bits.
    pub fragment: u16,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// What it carries; in version 6, behind the extension headers.
    pub protocol: u8,
    /// Of the header.
    pub checksum: u16,
    /// Who sent it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
}

impl Ip {
    /// The header, and what follows it, unless that is in an earlier fragment.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        match bytes.first()? >> 4 {
            4 => Self::read_4(bytes),
            6 => Self::read_6(bytes),
            _ => None,
        }
    }

    fn read_4(bytes: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        const LEAST: usize = 20;
        const OFFSET: u16 = 0x1fff;
        let head: &[u8; LEAST] = bytes.first_chunk()?;
        let length = usize::from(head[0] & 0xf) * 4;
        if length < LEAST {
            return None;
        }
        let address = |at| double_word(head, at).map(|address| IpAddr::V4(Ipv4Addr::from_bits(address)));
        let ip = Self {
            version: 4,
            service: head[1],
            length: word(head, 2)?.into(),
            header: length as u32,
            identification: word(head, 4)?.into(),
            fragment: word(head, 6)?,
            hops: head[8],
            protocol: head[9],
            checksum: word(head, 10)?,
            source: address(12)?,
            destination: address(16)?,
        };
        let is_first = ip.fragment & OFFSET == 0;
        Some((ip, bytes.get(length..).filter(|_| is_first)))
    }

    fn read_6(bytes: &[u8]) -> Option<(Self, Option<&[u8]>)> {
        const LENGTH: usize = 40;
        let head: &[u8; LENGTH] = bytes.first_chunk()?;
        let address = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*head.get(at..)?.first_chunk::<16>()?)));
        let payload = u32::from(word(head, 4)?);
        let mut ip = Self {
            version: 6,
            service: (word(head, 0)? >> 4) as u8,
            length: if payload == 0 { 0 } else { payload + LENGTH as u32 },
            header: LENGTH as u32,
            identification: 0,
            fragment: 0,
            hops: head[7],
            protocol: head[6],
            checksum: 0,
            source: address(8)?,
            destination: address(24)?,
        };
        let above = ip.skip_extensions(&bytes[LENGTH..]);
        Some((ip, above))
    }

    /// Goes over extension headers (RFC 8200, section 4); gives what is behind them.
    fn skip_extensions<'a>(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        const FRAGMENT: usize = 8;
        // Each step takes eight bytes at least, so this ends.
        loop {
            let length = match i32::from(self.protocol) {
                libc::IPPROTO_HOPOPTS | libc::IPPROTO_ROUTING | libc::IPPROTO_DSTOPTS => {
                    (usize::from(*rest.get(1)?) + 1) * 8
                }
                // In units of four bytes (RFC 4302, section 2.2).
                libc::IPPROTO_AH => (usize::from(*rest.get(1)?) + 2) * 4,
                libc::IPPROTO_FRAGMENT => {
                    let offset_and_flag = word(rest, 2)?;
                    self.identification = double_word(rest, 4)?;
                    self.fragment = (offset_and_flag >> 3) | ((offset_and_flag & 1) << 13);
                    FRAGMENT
                }
                _ => return Some(rest),
            };
            let was_fragment = i32::from(self.protocol) == libc::IPPROTO_FRAGMENT;
            self.protocol = *rest.first()?;
            rest = rest.get(length..)?;
            self.header += length as u32;
            if was_fragment && self.fragment & 0x1fff != 0 {
                return None;
            }
        }
    }
}

/// A header of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Port.
    pub source: u16,
    /// Port.
    pub destination: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Bytes of the header.
    pub header: u8,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit.
    pub flags: u8,
    /// As it is in the header: not scaled.
    pub window: u16,
    /// Of header and data.
    pub checksum: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl Tcp {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; 20] = bytes.first_chunk()?;
        Some(Self {
            source: word(head, 0)?,
            destination: word(head, 2)?,
            sequence: double_word(head, 4)?,
            acknowledgement: double_word(head, 8)?,
            header: (head[12] >> 4) * 4,
            flags: head[13],
            window: word(head, 14)?,
            checksum: word(head, 16)?,
            urgent: word(head, 18)?,
        })
    }
}

/// A header of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Port.
    pub source: u16,
    /// Port.
    pub destination: u16,
    /// Bytes of header and data.
    pub length: u16,
    /// Of header and data.
    pub checksum: u16,
}

impl Udp {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; 8] = bytes.first_chunk()?;
        Some(Self {
            source: word(head, 0)?,
            destination: word(head, 2)?,
            length: word(head, 4)?,
            checksum: word(head, 6)?,
        })
    }
}
