"""The tokenizer: words are words here, and what they mean is the parser's to say."""

from sqlglot import TokenType, tokens


class KsqlTokenizer(tokens.Tokenizer):
    """Texts in ' with '' inside, names in ` or ", comments -- and /* */."""

    QUOTES = ["'"]
    IDENTIFIERS = ["`", '"']
    STRING_ESCAPES = ["'"]
    IDENTIFIER_ESCAPES = []
    COMMENTS = ["--", ("/*", "*/")]
    NESTED_COMMENTS = False
    BIT_STRINGS = []
    BYTE_STRINGS = []
    HEX_STRINGS = []
    RAW_STRINGS = []
    HEREDOC_STRINGS = []
    UNICODE_STRINGS = []
    NATIONAL_RAW_STRINGS = []
    COMMANDS = set()
    KEYWORDS = {
        "->": TokenType.ARROW,
        "=>": TokenType.FARROW,
        ":=": TokenType.COLON_EQ,
        "||": TokenType.DPIPE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
    }
