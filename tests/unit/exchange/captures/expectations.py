"""Write what tshark reads from the captures of this folder to expected.json, a row for each packet of IP."""

import json
import subprocess
from pathlib import Path

FIELDS = [
    "frame.time_epoch",
    "frame.len",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "udp.srcport",
    "udp.dstport",
    "tcp.srcport",
    "tcp.dstport",
    "sctp.srcport",
    "sctp.dstport",
    "icmp.type",
    "icmpv6.type",
]
OPTIONS = ["-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]


def rows(path):
    command = [
        "tshark",
        "-n",
        "-r",
        str(path),
        *OPTIONS,
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        "-E",
        "separator=/t",
    ]
    command += [word for name in FIELDS for word in ("-e", name)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found, others = [], 0
    for line in text.splitlines():
        each = dict(zip(FIELDS, line.split("\t"), strict=True))
        source, destination = each["ip.src"] or each["ipv6.src"], each["ip.dst"] or each["ipv6.dst"]
        if not source:
            others += 1
            continue
        seconds, _, fraction = each["frame.time_epoch"].partition(".")
        time = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
        size = int(each["ip.len"]) if each["ip.len"] else int(each["ipv6.plen"]) + 40
        ports = [int(each[f"{name}.srcport"]) for name in ("udp", "tcp", "sctp") if each[f"{name}.srcport"]]
        ports += [int(each[f"{name}.dstport"]) for name in ("udp", "tcp", "sctp") if each[f"{name}.dstport"]]
        if each["icmp.type"] or each["icmpv6.type"]:  # an error quotes a packet, whose ports these are
            ports = []
        found.append([time, size, source, destination, *(ports or [0, 0])])
    return {"others": others, "packets": found}


paths = sorted([*Path().glob("*.pcap"), *Path().glob("*.pcapng")])
text = {path.name: rows(path) for path in paths}
content = ",\n".join(f'"{name}": {json.dumps(each, separators=(",", ":"))}' for name, each in text.items())
Path("expected.json").write_text("{\n" + content + "\n}\n")
