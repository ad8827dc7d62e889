"""Parse types: `BIGINT`, `DECIMAL(10, 2)`, `ARRAY<STRUCT<a INT>>`, and names of custom types."""

from sqlglot import TokenType, exp

from duolog.ksql.syntax.name_parser import NameParser
from duolog.ksql.syntax.words import TYPES


class TypeParser(NameParser):
    """Parses types. `ExpressionParser` parses expressions."""

    def data_type(self) -> exp.DataType:
        """Read a built-in type, or the name of a custom type."""
        if not self.at_name():
            self.expected("a type")
        token = self._curr
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word in {"ARRAY", "MAP", "STRUCT"} and self._next.token_type == TokenType.LT:
            self._advance(2)
            read = {"ARRAY": self._array_type, "MAP": self._map_type, "STRUCT": self._struct_type}
            found = read[word]()
            self.expect(TokenType.GT, "'>'")
            return self.expression(found, token)
        if word in {"DECIMAL", "DEC"}:
            self._advance()
            return self.expression(self._decimal_type(), token)
        if word in TYPES:
            self._advance()
            self._ignored_length()
            return self.expression(exp.DataType(this=TYPES[word]), token)
        name = self.identifier("a type")
        return self.expression(exp.DataType(this=exp.DType.USERDEFINED, kind=name), token)

    def _array_type(self) -> exp.DataType:
        return exp.DataType(this=exp.DType.ARRAY, expressions=[self.data_type()], nested=True)

    def _map_type(self) -> exp.DataType:
        key = self.data_type()
        self.expect(TokenType.COMMA, "','")
        return exp.DataType(this=exp.DType.MAP, expressions=[key, self.data_type()], nested=True)

    def _struct_type(self) -> exp.DataType:
        fields: list[exp.Expression] = []
        while self._curr.token_type != TokenType.GT:
            name = self.identifier("a field")
            fields.append(self.expression(exp.ColumnDef(this=name, kind=self.data_type())))
            if not self._match(TokenType.COMMA):
                break
        return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)

    def _decimal_type(self) -> exp.DataType:
        sizes = []
        if self._match(TokenType.L_PAREN):
            self._expect_parameter()
            sizes = [exp.DataTypeParam(this=self.integer())]
            if self._match(TokenType.COMMA):
                sizes.append(exp.DataTypeParam(this=self.integer()))
            self.expect(TokenType.R_PAREN, "')'")
        return exp.DataType(this=exp.DType.DECIMAL, expressions=sizes)

    def _ignored_length(self) -> None:
        """Read and ignore a length, as in VARCHAR(20) or VARCHAR(STRING)."""
        if self._match(TokenType.L_PAREN):
            if not self.take_word("STRING"):
                self._expect_parameter()
                self._advance()
            self.expect(TokenType.R_PAREN, "')'")

    def _expect_parameter(self) -> None:
        if self._curr.token_type not in {TokenType.NUMBER, TokenType.STRING}:
            self.raise_error("Expecting {'STRING', INTEGER_VALUE}")
