"""The program on the page of the relax dialect runs as it is there."""

import re

from support import paths

PAGE = (paths.ROOT / "docs" / "relax.md").read_text()


def test_the_program_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "docs/relax.md", "exec"), {})


def test_links_stay_on_the_page_or_lead_to_files() -> None:
    anchors = {
        heading.lower().replace(".", "")
        for heading in re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)
    }
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]*)\)", prose):
        file, _, anchor = target.partition("#")
        assert not file or (paths.ROOT / "docs" / file).exists(), target
        assert file or anchor in anchors, target
