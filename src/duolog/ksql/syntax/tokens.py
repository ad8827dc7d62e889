"""Tokenizer of ksqlDB's SQL. All words are plain words; the parser decides which are keywords."""

from sqlglot import TokenType, tokens


class KsqlTokenizer(tokens.Tokenizer):
    """Literals in ' (escaped by ''), names in ` or ", comments -- and /* */."""

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
