"""Define ksqlDB's SQL as a dialect of sqlglot."""

from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

from duolog.ksql.syntax.parser import KsqlParser
from duolog.ksql.syntax.tokens import KsqlTokenizer


class Ksql(Dialect):
    """Unquoted names are upper case; the quotes are ` and "."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = True
    NORMALIZATION_STRATEGY = NormalizationStrategy.UPPERCASE

    Tokenizer = KsqlTokenizer
    Parser = KsqlParser
