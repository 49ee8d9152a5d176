"""Write the card's table of operations anew: `python -m tests.tools.regenerate_card`."""

import sys

from agentkern.tools.card import CARD, n_tokens, with_table

if __name__ == "__main__":
    CARD.write_text(with_table(CARD.read_text()))
    sys.stdout.write(f"{n_tokens(CARD.read_text())} tokens at most\n")
