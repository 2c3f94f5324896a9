"""Which links flows take over equal ways in compatible mode: the hash and the order of next hops are restated here."""

from itertools import pairwise

import pytest

from trialwise import _core


def next_hop(node: int, towards: int, words: tuple[int, int, int]) -> int:
    """The next hop in a fat tree of 16 hosts, edges 16 to 23, aggregations 24 to 31 and cores 32 to 35.

    The HPCC simulator numbers equal next hops from the highest node downward (topo_fattree4_routes.txt of the recorded data).
    """
    edge, pod = 16 + towards // 2, towards // 4
    if node < 16:
        return 16 + node // 2
    if node == edge:
        return towards
    if node >= 32:
        return 24 + 2 * pod + (node - 32) // 2
    if node >= 24 and (node - 24) // 2 == pod:
        return edge
    if node >= 24:
        return 33 + 2 * (node % 2) - murmur3(words, node) % 2
    return 25 + 2 * ((node - 16) // 2) - murmur3(words, node) % 2


def murmur3(words: tuple[int, ...], seed: int) -> int:
    """MurmurHash3 of 32 bits over whole words (Appleby's reference, x86_32)."""
    mask, found = 0xFFFFFFFF, seed
    for word in words:
        mixed = word * 0xCC9E2D51 & mask
        found ^= ((mixed << 15) | (mixed >> 17)) * 0x1B873593 & mask
        found = ((found << 13) | (found >> 19)) & mask
        found = (found * 5 + 0xE6546B64) & mask
    found ^= 4 * len(words)
    found = (found ^ (found >> 16)) * 0x85EBCA6B & mask
    found = (found ^ (found >> 13)) * 0xC2B2AE35 & mask
    return found ^ (found >> 16)


def links_on_the_way(source: int, target: int, source_port: int, target_port: int) -> set[tuple[int, int]]:
    addresses = [0x0B000001 + host * 0x100 for host in (source, target)]
    words = (addresses[0], addresses[1], source_port | target_port << 16)
    way = [source]
    while way[-1] != target:
        way.append(next_hop(way[-1], target, words))
    return set(pairwise(way))


@pytest.mark.parametrize("port", range(100, 120))
def test_ports_choose_the_way_of_data_and_of_acknowledgements(port: int) -> None:
    """Two flows from one switch to another at 100 Gbit/s: apart, 178,439 ns each.

    Where acknowledgements alone meet, the later one waits for the 60 bytes of the other: 4.8 ns, which ns-3 cuts to 4 (CCA.md, 1).
    """
    flows, *_ = _core.read_flow_list(f"2\n0 15 3 {port} 2000000 2\n1 14 3 100 2000000 2\n")
    fabric = _core.Fabric("fat-tree:4,100Gbit/s,1us")
    result = _core.simulate(fabric, flows, controller="dctcp", mode="compatible")
    times = (result.fct_ps // 1000).tolist()
    data = links_on_the_way(0, 15, 10000, port) & links_on_the_way(1, 14, 10000, 100)
    replies = links_on_the_way(15, 0, port, 10000) & links_on_the_way(14, 1, 100, 10000)
    if data:
        assert min(times) > 2_000_000 * 8 / 100 * 2  # bits of both, at 100 bit/ns
    else:
        assert times == [178_439, 178_443 if replies else 178_439]
