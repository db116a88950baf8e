"""How CPython writes numbers, strings and documents: for the shared json.dumps and repr."""
import json
import random

FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-4, 1e-5, 9.999e-5, 1e-7, 1e15, 1e16, 1e17, 123456789012345680.0, 1e22, 5e-324,
          1.7976931348623157e308, 2.2250738585072014e-308, 0.3, 2 / 3, 100.0, 1e100, 12345.678, 9007199254740993.0]
TEXTS = ["", "a", "'", '"', "'\"", "\\", "\n\r\t\b\f", "\x00\x1f\x7f\x80\x9f\xa0\xad", "é日😀", "\u2028\u2029\u200b\ufeff\u3000",
         "</script><&>'", "tab\tend", "\U000e0001", "ٱ\u0600"]
DOCUMENTS = [None, True, False, 0, -1, 2**64, 10**30, [], {}, [[]], {"a": {}}, {"b": 1, "a": [1, 2.5, None, True, "x"]},
             [{"k": []}, {"": ""}], {"é": {"日": ["\u2028", "\x7f", 1e-07]}}]
STYLES = [{}, {"ensure_ascii": True}, {"indent": 4}, {"indent": 0}, {"separators": [",", ":"]}, {"sort_keys": True},
          {"indent": 2, "sort_keys": True, "ensure_ascii": True}]


def golden():
    random.seed(7)
    floats = FLOATS + [random.uniform(-1, 1) * 10.0 ** random.randint(-30, 30) for _ in range(300)]
    entries = [{"kind": "float", "value": f.hex(), "repr": repr(f)} for f in floats]
    for document in [*TEXTS, *DOCUMENTS, *FLOATS]:
        for style in STYLES:
            keywords = {"ensure_ascii": False, **style}
            if separators := keywords.get("separators"):
                keywords["separators"] = tuple(separators)
            text = json.dumps(document, ensure_ascii=True)
            entries.append({"kind": "dumps", "json": text, "style": style, "dumps": json.dumps(document, **keywords)})
        entries.append({"kind": "repr", "json": json.dumps(document), "repr": repr(document), "str": str(document)})
    return entries
