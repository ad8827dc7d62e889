"""Define ksqlDB's SQL as a dialect of sqlglot."""

import re
from typing import Final

from sqlglot import Token
from sqlglot.dialects.dialect import Dialect, DialectType, NormalizationStrategy

from duolog.ksql.syntax.parser import KsqlParser
from duolog.ksql.syntax.tokens import KsqlTokenizer

_BLANKS: Final = re.compile(r"\A[ \n]*+")


class Ksql(Dialect):
    """Unquoted names are upper case; the quotes are ` and "."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = True
    NORMALIZATION_STRATEGY = NormalizationStrategy.UPPERCASE

    Tokenizer = KsqlTokenizer
    Parser = KsqlParser

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Return the tokens of a text. Blanks before the first one cost next to nothing.

        A statement of a script comes with as many as there is text before it (`script.pieces`).
        """
        text = _BLANKS.sub("", sql, count=1)
        before = sql[: len(sql) - len(text)]
        lines, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        tokens = super().tokenize(text, dialect)
        for token in tokens:
            if token.line == 1:
                token.col += column
            token.line += lines
            token.start += len(before)
            token.end += len(before)
        return tokens
