"""Write every page's `Reported` block anew: `python -m tests.diagnostics.regenerate_pages`."""

from agentkern.diagnostics import render
from agentkern.diagnostics.pages import PAGES
from tests.diagnostics.page_cases import pages, reported


def main() -> None:
    for page in pages():
        if page.wrong:
            shown = "\n\n".join(render(diagnostic, page.wrong) for diagnostic in reported(page, page.wrong))
            text = page.text.replace(f"```text\n{page.reported}```", f"```text\n{shown}\n```")
            (PAGES / f"{page.code}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
