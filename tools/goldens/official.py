"""Rendering and tokenising as the official tools do.

What a person or a tool wrote must stay text even where it spells a special token. So every such
spelling is replaced by characters of private use before rendering and put back before encoding;
what spells a special token after that was the template, or the model.
"""
import datetime
import json
import re

import encoders
import tokenizers
from conversations import DECLARED
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template


class Opened(datetime.datetime):
    """The only clock that a template sees: the moment at which the tests' sessions opened."""

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(1_741_100_767, datetime.timezone.utc)


chat_template_utils.datetime = Opened
HIDDEN = 0xF0000  # one character of private use a spelling, from here on


def any_of(spellings):
    return re.compile("(" + "|".join(map(re.escape, sorted(spellings, key=len, reverse=True))) + ")")


# The tags of HTML that Gemma's vocabulary has.
ELEMENTS = """a b bbox blockquote body caption code div em footer h1 h2 h3 h4 h5 h6 html i iframe img li s span strong sub sup table tbody td
    tfoot th thead tr u ul""".split()


def is_word(token, config):
    """Whether an added token is plain text: a word of SentencePiece's that cannot steer a model."""
    spelling = token["content"]
    plain = not token["special"] and config["model"]["vocab"].get(spelling) == token["id"] and "ByteLevel" not in json.dumps(config["decoder"])
    return plain and (not spelling.strip("\u2581").strip() or spelling.strip("</>") in ELEMENTS)


class Vocabulary:
    def __init__(self, config, spoken=None):
        """`spoken`: the tokens that a model writes as part of what it says, if they are not those that are not special."""
        words = [t for t in config["added_tokens"] if is_word(t, config)]
        self.added = [(t["content"], t["id"], t["special"]) for t in config["added_tokens"] if t not in words]
        self.whole = tokenizers.Tokenizer.from_str(json.dumps(config))
        self.plain = tokenizers.Tokenizer.from_str(json.dumps({**config, "added_tokens": words}))
        self.places = {spelling: at for at, (spelling, _, _) in enumerate(self.added)}
        self.border = any_of(spelling for spelling, _, _ in self.added)
        self.control = any_of(spelling for spelling, _, special in self.added if (special if spoken is None else spelling not in spoken))
        self.ids = {spelling: id for spelling, id, _ in self.added}
        self.declare = lambda tools: {"tools": tools or None}  # how tools are handed to the template
        self.argument_text = False  # whether the template takes argument text as it is

    def hide(self, value, control_only=False):
        """Hide spelled-out special tokens in every string of a value."""
        if isinstance(value, dict):
            return {self.hide(k, control_only): self.hide(v, control_only) for k, v in value.items()}
        if isinstance(value, list):
            return [self.hide(v, control_only) for v in value]
        if not isinstance(value, str):
            return value
        pattern = self.control if control_only else self.border
        return pattern.sub(lambda found: chr(HIDDEN + self.places[found[0]]), value)

    def show(self, text):
        return re.sub("[\U000F0000-\U000FFFFD]", lambda m: self.added[ord(m[0]) - HIDDEN][0], text)

    def encode(self, text):
        ids = []
        for piece in self.border.split(text):
            if piece in self.ids:
                ids.append(self.ids[piece])
            elif piece:
                ids.extend(self.plain.encode(self.show(piece), add_special_tokens=False).ids)
        if self.show(text) == text:
            assert ids == self.whole.encode(text, add_special_tokens=False).ids
        return ids


def prepared(messages, vocabulary):
    """Messages as they reach a template: rules 4, 5 and 6 of crates/families/src/qwen3.rs."""
    out = []
    for message in messages:
        message = json.loads(json.dumps(message))
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part["text"] for part in content)
        message["content"] = content or ""
        for call in message.get("tool_calls", []):
            arguments = call["function"]["arguments"]
            if isinstance(arguments, str) and not vocabulary.argument_text:
                call["function"]["arguments"] = json.loads(arguments)
        out.append(vocabulary.hide(message, control_only=message["role"] == "assistant"))
    return out


def render(template, vocabulary, conversation, messages, prompt=True, **arguments):
    declared = [DECLARED[name] for name in conversation.get("tools", [])]
    if arguments.pop("wrap", False):
        declared = [tool if "function" in tool else {"type": "function", "function": tool} for tool in declared]
    tools = vocabulary.hide(declared)
    arguments = {**conversation.get("template", {}), **arguments}
    if encoders.is_inkling(template):
        return encoders.inkling(template, prepared(messages, vocabulary), tools, arguments, vocabulary)
    if encoders.is_program(template):
        return vocabulary.encode(encoders.encode(template, prepared(messages, vocabulary), tools, arguments))
    rendered, _ = render_jinja_template(
        [prepared(messages, vocabulary)],
        **vocabulary.declare(tools),
        chat_template=template,
        add_generation_prompt=prompt,
        **arguments,
    )
    return vocabulary.encode(rendered[0])
