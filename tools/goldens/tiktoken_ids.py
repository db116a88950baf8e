"""Ids of tiktoken itself, with Kimi's way to cut a text, over the shortened vocabulary: no package has Kimi's own."""
import json
import random

import drawn
import tiktoken

# As Kimi's tokenizer has it.
PATTERN = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])
TEXTS = [
    "漢字とかな、漢字abc漢字", "中文English混排123中文", "don't WE'LL They'Re it's", "１２３ ٣٤٥ 1234567", "\r\n\r\n  \n\t x", "aaaaaaaaaaaaaaaaa", "ababababab", "……——！？。", "  \u3000 ", "𠮷野家 𝒳",
]


def bytes_of():
    """The byte that each character of a byte-level vocabulary stands for."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}


def golden(home):
    """A text and its ids a line."""
    table = bytes_of()
    vocabulary = json.loads((home / "surrogate/tokenizer.json").read_text())["model"]["vocab"]
    ranks = {bytes(table[character] for character in entry): id for entry, id in vocabulary.items()}
    encoding = tiktoken.Encoding("kimi", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    random_ = random.Random(7)
    letters = "aAé漢字かな한1 ٣\n\r\t'’-_.,!\u0301\u200d😀ßǅʰ"
    texts = [*drawn.TEXTS, *TEXTS, *("".join(random_.choices(letters, k=random_.randint(1, 24))) for _ in range(300))]
    yield from ([text, encoding.encode(text, disallowed_special=())] for text in texts)
