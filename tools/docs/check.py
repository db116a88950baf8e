#!/usr/bin/env python3
"""Checks the written documentation: every relative link leads to a file, every page of the book is in
its summary, and every `verbatim` command that is shown exists."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^(?:\$ )?(?:cargo run (?:-q )?-- |verbatim )([a-z]+)", re.M)


def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.split("\n") if line]


def commands():
    """The commands that the binary has, from the definition of its arguments."""
    source = (ROOT / "crates/cli/src/args.rs").read_text()
    body = source.split("enum Command {")[1].split("\n}")[0]
    return {name.lower() for name in re.findall(r"^    ([A-Z][a-z]+)", body, re.M)}


def main():
    problems = []
    known = commands()
    for page in pages():
        text = page.read_text()
        for target in LINK.findall(text):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                problems.append(f"{page.relative_to(ROOT)}: {target} is not there")
        for command in COMMAND.findall(text):
            if command not in known:
                problems.append(f"{page.relative_to(ROOT)}: there is no command `verbatim {command}`")
    summary = ROOT / "docs/src/SUMMARY.md"
    listed = {(summary.parent / target).resolve() for target in LINK.findall(summary.read_text())}
    for page in (ROOT / "docs/src").glob("**/*.md"):
        if page != summary and page.resolve() not in listed:
            problems.append(f"{page.relative_to(ROOT)} is not in the book's summary")
    print("\n".join(problems) or "documentation: every link and command holds")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
