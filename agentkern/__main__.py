"""`python -m agentkern`: the command line."""

from agentkern.tools.cli import main

if __name__ == "__main__":
    main()
