import hashlib

from trialwise.design.seeds import generator, seed_of


def test_seed_is_the_documented_hash():
    text = "".join(f"{len(part)}:{part}" for part in ("7", "trial", "level=1", "1", "1")).encode()
    assert seed_of(7, "trial", "level=1", 1, 1) == int(hashlib.sha256(text).hexdigest()[:16], 16) >> 1


def test_seed_is_the_same_for_ever():
    assert seed_of(0, "trial", "-", 1, 1) == 2350526490261110835


def test_lists_of_names_do_not_run_together():
    assert seed_of(0, "ab", "c") != seed_of(0, "a", "bc")
    assert seed_of(0, "1", "1") != seed_of(0, "11")


def test_seeds_fit_into_sqlite():
    assert all(0 <= seed_of(root, "x") < 2**63 for root in range(1000))


def test_generator_is_pcg64dxsm():
    assert type(generator(1, "a").bit_generator).__name__ == "PCG64DXSM"
