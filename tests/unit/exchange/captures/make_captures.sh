#!/bin/bash
# Makes the captures of this folder by real tools: tcpdump, dumpcap, editcap, mergecap, text2pcap, tshark (Wireshark 4.0), scapy 2.6, in
# network namespaces of its own. Needs root. The result differs from run to run; expected.json is what tshark reads from it.
# Usage: make_captures.sh FOLDER
set -e -o pipefail
here=$(dirname "$(readlink -f "$0")")
cd "$1"
A=twfx-a R=twfx-r B=twfx-b
for n in $A $R $B; do ip netns add $n; ip -n $n link set lo up; done
trap 'for n in $A $R $B; do ip netns pids $n | xargs -r kill; ip netns del $n; done' EXIT
ip link add a0 netns $A type veth peer name r0 netns $R
ip link add b0 netns $B type veth peer name r1 netns $R
ip -n $A addr add 10.1.0.2/24 dev a0; ip -n $R addr add 10.1.0.1/24 dev r0
ip -n $B addr add 10.2.0.2/24 dev b0; ip -n $R addr add 10.2.0.1/24 dev r1
ip -n $A addr add 2001:db8:1::2/64 dev a0 nodad; ip -n $R addr add 2001:db8:1::1/64 dev r0 nodad
ip -n $B addr add 2001:db8:2::2/64 dev b0 nodad; ip -n $R addr add 2001:db8:2::1/64 dev r1 nodad
for each in "$A a0" "$B b0" "$R r0" "$R r1"; do ip -n ${each% *} link set ${each#* } up; done
ip -n $A route add default via 10.1.0.1; ip -n $B route add default via 10.2.0.1
ip -n $A -6 route add default via 2001:db8:1::1; ip -n $B -6 route add default via 2001:db8:2::1
ip netns exec $R sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
capture() { # NAMESPACE FILE ARGUMENTS...
  local n=$1 f=$2; shift 2
  ip netns exec $n tcpdump -Z root -U -q -n -w $f "$@" 2>$f.log & pids="$pids $!"
}
stop() { sleep 1; kill -INT $pids; wait $pids || true; pids=""; rm -f *.log; }
traffic() {
  ip netns exec $R ping -q -c 1 -s 4000 10.1.0.2 >/dev/null
  ip netns exec $A ping -q -c 1 -s 4000 10.2.0.2 >/dev/null
  ip netns exec $A ping -q -c 1 -s 4000 2001:db8:2::2 >/dev/null
  ip netns exec $A python3 "$here/traffic.py" "$@"
}
# Ethernet and both cooked kinds, whole packets, microseconds and nanoseconds.
capture $A ethernet.pcap -i a0 -s 128 --time-stamp-precision=nano
capture $A cooked2.pcap -i any -s 128
capture $A cooked.pcap -i any -s 128 -y LINUX_SLL
ip netns exec $A dumpcap -q -s 128 -i a0 -s 128 -i lo -s 128 -w several.pcapng 2>/dev/null & pids="$pids $!"
sleep 2
ip netns exec $B python3 "$here/traffic.py" serve & server=$!
sleep 1
traffic udp 10.2.0.2; traffic udp 2001:db8:2::2; traffic udp 127.0.0.1 || true
kill $server
stop
ip netns exec $A python3 "$here/traffic.py" tun & tun=$!
sleep 2
capture $A raw.pcap -i tun0 -s 128
capture $A loopback.pcap -i lo -s 128
sleep 2
ip netns exec $A ping -q -c 2 -i 0.2 -W 1 10.8.0.1 >/dev/null || true
ip netns exec $A ping -q -c 2 -i 0.2 ::1 >/dev/null
stop
kill $tun
editcap -F modpcap ethernet.pcap modified.pcap
mergecap -F pcapng -w merged.pcapng ethernet.pcap cooked.pcap raw.pcap loopback.pcap
editcap -F pcapng -t -3600 -s 60 several.pcapng shifted.pcapng
"$PYTHON" "$here/made_by_scapy.py"

# Two ends with address translation and loss of 5 % of UDP between them, without offloads.
ip netns exec $R nft add table ip nat
ip netns exec $R nft 'add chain ip nat out { type nat hook postrouting priority 100; }'
ip netns exec $R nft add rule ip nat out oifname r1 masquerade random
for each in "$A a0" "$B b0" "$R r0" "$R r1"; do ip netns exec ${each% *} ethtool -K ${each#* } tso off gso off gro off >/dev/null 2>&1 || true; done
ip netns exec $R nft add table inet loss
ip netns exec $R nft 'add chain inet loss way { type filter hook forward priority 0; }'
ip netns exec $R nft add rule inet loss way ip saddr 10.1.0.2 ip protocol udp numgen random mod 20 0 counter drop
capture $A end-a.pcap -i a0 -s 120 --time-stamp-precision=nano
capture $B end-b.pcap -i b0 -s 120 --time-stamp-precision=nano
sleep 2
ip netns exec $B python3 "$here/traffic.py" serve & server=$!
sleep 1
ip netns exec $A python3 "$here/traffic.py" both 10.2.0.2
kill $server
ip netns exec $R nft list chain inet loss way | sed -n 's/.*packets \([0-9]*\).*/{"lost": \1}/p' > lost.json
stop
# Another clock at the far end.
editcap -F nsecpcap -t 7.25 end-b.pcap end-b-shifted.pcap
"$PYTHON" "$here/expectations.py"
