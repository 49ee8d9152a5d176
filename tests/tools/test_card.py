"""The card is short, names every operation as the stubs do, and its kernels are right; the page `order` has every row."""

from __future__ import annotations

import re

import pytest

from agentkern.dsl import operations
from agentkern.tools import api
from agentkern.tools.card import CARD, MOST_TOKENS, n_tokens, operation_table, with_table
from agentkern.tools.order_page import ORDER_PAGE, with_roundings
from agentkern.tools.reference import reference

TEXT = CARD.read_text()


def test_the_card_fits_its_budget():
    assert n_tokens(TEXT) <= MOST_TOKENS


def test_the_table_is_what_the_stubs_say():
    assert with_table(TEXT) == TEXT


def test_the_page_order_has_every_rounding_as_the_module_says():
    page = ORDER_PAGE.read_text()
    assert with_roundings(page) == page
    assert "32 runs' totals as a binary tree" in page


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
