"""Write the tables of the card and of the page `order` anew: `python -m tests.tools.regenerate_card`."""

import sys

from agentkern.tools.card import CARD, n_tokens, with_table
from agentkern.tools.order_page import ORDER_PAGE, with_roundings

if __name__ == "__main__":
    CARD.write_text(with_table(CARD.read_text()))
    ORDER_PAGE.write_text(with_roundings(ORDER_PAGE.read_text()))
    sys.stdout.write(f"{n_tokens(CARD.read_text())} tokens at most\n")
