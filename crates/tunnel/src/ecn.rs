//! What becomes of the ECN field when a packet leaves a tunnel (RFC 6040, section 4.2).

const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// The field of a packet that leaves, from its own and that of the datagram around it; nothing where it must be dropped: the path
/// marked what does not understand marks.
pub(crate) const fn leaving(inner: u8, outer: u8) -> Option<u8> {
    match (inner, outer) {
        (NOT_ECT, CE) => None,
        (NOT_ECT | CE, _) => Some(inner),
        (_, CE) => Some(CE),
        (ECT_0, ECT_1) => Some(ECT_1),
        _ => Some(inner),
    }
}

/// Writes the field of a packet whose header of IPv4 or IPv6 is whole.
pub(crate) fn set(packet: &mut [u8], ecn: u8) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !0x30 | ecn << 4; // the lowest bits of the traffic class (RFC 8200, section 3)
    } else {
        set_v4(packet, ecn);
    }
}

/// Writes the field of a packet of IPv4, and with it the checksum, which keeps what was wrong in it (RFC 1624).
fn set_v4(packet: &mut [u8], ecn: u8) {
    let [service, high, low] = [1, 10, 11].map(|place| packet[place]);
    let written = service & !3 | ecn;
    let sum =
        u32::from(!u16::from_be_bytes([high, low])) + u32::from(!u16::from(service)) + u32::from(written);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    packet[1] = written;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_leave_as_the_table_of_the_standard_says() {
        // Figure 4 of RFC 6040: rows of the inner field, columns Not-ECT, ECT(0), ECT(1), CE of the outer.
        let columns = [NOT_ECT, ECT_0, ECT_1, CE];
        for (inner, row) in [
            (NOT_ECT, [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), None]),
            (ECT_0, [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)]),
            (ECT_1, [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)]),
            (CE, [Some(CE), Some(CE), Some(CE), Some(CE)]),
        ] {
            assert_eq!(columns.map(|outer| leaving(inner, outer)), row, "inner {inner}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_whole_header() {
        for service in 0..=u8::MAX {
            for ecn in 0..4 {
                let mut packet = [
                    0x45, service, 0x05, 0xdc, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 100, 64, 0, 1, 100, 64, 0, 2,
                ];
                let sum = sum_of(&packet);
                packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
                set(&mut packet, ecn);
                assert_eq!((packet[1], sum_of(&packet)), (service & !3 | ecn, 0xffff));
            }
        }
    }

    #[test]
    fn of_ipv6_nothing_but_the_field_is_written() {
        for ecn in 0..4 {
            // Traffic class 0xb9 (EF, ECT(1)), flow label 0xfffff.
            let mut packet = [0x6b, 0x9f, 0xff, 0xff];
            set(&mut packet, ecn);
            let class = u32::from_be_bytes(packet) >> 20 & 0xff;
            assert_eq!((class, packet[0] >> 4), (0xb8 | u32::from(ecn), 6));
            assert_eq!(u32::from_be_bytes(packet) & 0xf_ffff, 0xf_ffff);
        }
    }

    /// RFC 1071.
    fn sum_of(header: &[u8]) -> u16 {
        let mut sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }
}
