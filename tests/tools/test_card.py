"""The card is short, names every operation as the stubs do, and its kernels are right."""

from __future__ import annotations

import re

import pytest

from agentkern.dsl import operations
from agentkern.tools import api
from agentkern.tools.card import CARD, MOST_TOKENS, n_tokens, operation_table, with_table
from agentkern.tools.reference import reference

TEXT = CARD.read_text()


def test_the_card_fits_its_budget():
    assert n_tokens(TEXT) <= MOST_TOKENS


def test_the_table_is_what_the_stubs_say():
    assert with_table(TEXT) == TEXT


@pytest.mark.parametrize("name", ["where", "absmax", "exp", "load", "argmax"])
def test_an_operation_of_the_stubs_is_in_the_table(name):
    assert hasattr(operations, name)
    assert re.search(rf"\b{name}\b", operation_table())


def test_a_client_reads_the_card_by_name():
    assert reference("card").text == TEXT


@pytest.mark.toolchain
@pytest.mark.parametrize("kernel", ["rms_norm", "quantise", "smoothed"])
def test_the_cards_kernels_verify(kernel):
    (block,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    result = api.verify(api.VerifyRequest(source=block, path="card.py", kernel=kernel, dims={"H": 256}))
    assert (result.status, result.verdict) == ("ok", "bit_exact"), result.summary
