"""Captures that no interface of this machine makes: PPP, PPPoE, BSD loopback, raw IP of one version, big-endian, IPv6 headers."""

import struct
from pathlib import Path

from scapy.all import (
    AH,
    ICMP,
    IP,
    PPP,
    SCTP,
    TCP,
    UDP,
    Dot1AD,
    Dot1Q,
    Ether,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PPPoE,
    Raw,
    RawPcapWriter,
    fragment,
    fragment6,
)

FOUR = IP(src="192.0.2.1", dst="192.0.2.2", id=77) / UDP(sport=40001, dport=5201) / Raw(b"a" * 100)
SIX = IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=40001, dport=5202) / Raw(b"b" * 60)
LONG = IP(src="192.0.2.1", dst="192.0.2.2", id=78) / UDP(sport=40003, dport=5203) / Raw(b"c" * 3000)
LONG_SIX = (
    IPv6(src="2001:db8::1", dst="2001:db8::2")
    / IPv6ExtHdrFragment(id=9)
    / UDP(sport=40003, dport=5203)
    / Raw(b"d" * 3000)
)
HEADERS = [
    IPv6(src="2001:db8::1", dst="2001:db8::2")
    / IPv6ExtHdrHopByHop()
    / IPv6ExtHdrDestOpt()
    / IPv6ExtHdrRouting()
    / UDP(sport=1, dport=2)
    / Raw(b"e"),
    IPv6(src="2001:db8::1", dst="2001:db8::2")
    / AH(spi=1, icv=b"\0" * 12, nh=17)
    / UDP(sport=3, dport=4)
    / Raw(b"e" * 5),
    IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrDestOpt() / SCTP(sport=5, dport=6),
]
MANY = [
    FOUR,
    SIX,
    *fragment(LONG, 1400),
    *fragment6(LONG_SIX, 1400),
    *HEADERS,
    IP(src="192.0.2.1", dst="192.0.2.2") / ICMP(),
]


def write(name, link, frames, **options):
    writer = RawPcapWriter(name, linktype=link, sync=True, **options)
    writer.write_header(None)
    for count, frame in enumerate(frames):
        writer.write_packet(bytes(frame), sec=1_700_000_000 + count, usec=count * 1001)
    writer.close()
    if link == 0:  # which scapy takes for nothing said
        content = bytearray(Path(name).read_bytes())
        content[20:24] = bytes(4)
        Path(name).write_bytes(content)


ppp = [PPP(proto=0x21 if p.version == 4 else 0x57) / p for p in MANY]
write("ppp.pcap", 9, ppp)
write("ppp-hdlc.pcap", 50, [b"\xff\x03" + bytes(p) for p in ppp])
write("pppoe.pcap", 1, [Ether() / PPPoE(sessionid=7) / p for p in ppp])
write(
    "pppoe-tagged.pcap", 1, [Ether() / Dot1AD(vlan=2) / Dot1Q(vlan=3) / PPPoE(sessionid=7) / p for p in ppp]
)
write("pppoe-alone.pcap", 51, [PPPoE(sessionid=7) / p for p in ppp])
write(
    "null-big.pcap",
    0,
    [struct.pack(">I", 2 if p.version == 4 else 30) + bytes(p) for p in MANY],
    endianness=">",
)
write("null.pcap", 0, [struct.pack("<I", 2 if p.version == 4 else 28) + bytes(p) for p in MANY])
write("loop.pcap", 108, [struct.pack(">I", 2 if p.version == 4 else 24) + bytes(p) for p in MANY])
write("raw4.pcap", 228, [p for p in MANY if p.version == 4])
write("raw6.pcap", 229, [p for p in MANY if p.version == 6], nano=True)
write("raw12.pcap", 12, MANY)
write("big-endian.pcap", 1, [Ether() / p for p in MANY], endianness=">")
write("big-endian-nano.pcap", 1, [Ether() / p for p in MANY], endianness=">", nano=True)


def block(kind, body, order):
    body += b"\0" * (-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def options(order, *each):
    text = b"".join(
        struct.pack(order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)
        for code, value in each
    )
    return text + struct.pack(order + "HH", 0, 0)


def sections(order):
    """Two interfaces (2^-20 s with an offset, and nanoseconds), all kinds of packet blocks, options and blocks that nobody knows."""
    ether = [bytes(Ether() / p) for p in MANY]
    parts = [
        block(
            0x0A0D0D0A,
            struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + options(order, (4, b"made by hand")),
            order,
        )
    ]
    parts.append(
        block(
            1,
            struct.pack(order + "HHI", 1, 0, 96)
            + options(order, (2, b"eth0"), (9, b"\x94"), (14, struct.pack(order + "q", 1_700_000_000))),
            order,
        )
    )
    parts.append(block(1, struct.pack(order + "HHI", 101, 0, 0) + options(order, (9, b"\x09")), order))
    for count, frame in enumerate(ether):
        kept = frame[:96]
        stamp = (count << 20) + count * 1000
        head = struct.pack(order + "IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(kept), len(frame))
        parts.append(
            block(
                6,
                head + kept + b"\0" * (-len(kept) % 4) + options(order, (1, b"a comment"), (2, b"\0\0\0\1")),
                order,
            )
        )
        parts.append(block(0x40000BAD, b"what nobody knows", order))
    for count, packet in enumerate(map(bytes, MANY)):
        stamp = (1_700_001_000 + count) * 10**9 + count
        parts.append(
            block(
                2,
                struct.pack(order + "HHIIII", 1, 0, stamp >> 32, stamp & 0xFFFFFFFF, len(packet), len(packet))
                + packet,
                order,
            )
        )
    parts.append(
        block(
            5,
            struct.pack(order + "III", 0, 0, 1)
            + options(order, (4, struct.pack(order + "Q", 30)), (5, struct.pack(order + "Q", 4))),
            order,
        )
    )
    parts.append(
        block(
            5, struct.pack(order + "III", 1, 0, 1) + options(order, (7, struct.pack(order + "Q", 3))), order
        )
    )
    return b"".join(parts)


Path("sections.pcapng").write_bytes(sections("<") + sections(">"))
