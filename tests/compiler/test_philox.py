"""`ak.philox` is Philox4x32-10: known answers, and the simulator's bits."""

from pathlib import Path

import numpy as np
import pytest

from tests.cases.runs import Case, codes, run
from tests.compiler.agreement import disagreements

WORDS = """\
def k(i: ak.In[ak.i64,N], s: ak.In[ak.u64,N], o: ak.Out[ak.u32,N,4]):
    for n in ak.grid(N):
        o[n,:]=ak.stack(ak.philox(s[n],i[n]),axis=1)
"""


def philox(key: list[int], counter: list[int]) -> list[int]:
    """Ten rounds on Python integers."""
    for turn in range(10):
        if turn:
            key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [b >> 32 ^ counter[1] ^ key[0], b % 2**32, a >> 32 ^ counter[3] ^ key[1], a % 2**32]
    return counter


def test_the_published_answer_of_zeros_is_reproduced() -> None:
    # Random123's kat_vectors: philox4x32 10, counter and key 0
    assert philox([0, 0], [0, 0, 0, 0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.toolchain
def test_seeds_and_indices_of_64_bits_have_their_words(simulator_cache: Path) -> None:
    index = np.array([0, 1, -1, 2**40 + 7, -(2**63)], np.int64)
    seed = np.array([0, 2**64 - 1, 5, 2**33, 0x123456789ABCDEF0], np.uint64)
    found = run(Case(WORDS, {"N": 5}), {"i": index, "s": seed}, simulator_cache)["o"]
    pairs = zip(index.tolist(), seed.tolist(), strict=True)
    split = [([s % 2**32, s >> 32], [i % 2**32, i % 2**64 >> 32, 0, 0]) for i, s in pairs]
    assert found.tolist() == [philox(key, counter) for key, counter in split]


@pytest.mark.toolchain
def test_random_bits_round_a_tile(simulator_cache: Path) -> None:
    body = """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.bf16,T,H], seed: ak.u64 = 3):
    for t in ak.grid(T):
        r,_,_,_=ak.philox(seed,t.index[:,None]*H+ak.arange(H))
        o[t,:]=x[t,:].to(ak.bf16,rounding="stochastic",bits=r)
"""
    assert disagreements(body, {"H": 9}, {"T": 5}, ("random", "special"), 2, simulator_cache) == []


def test_seeds_are_integers() -> None:
    line = WORDS.replace("s: ak.In[ak.u64,N]", "s: ak.In[ak.f32,N]")
    assert codes(line) == ["AK206"]
