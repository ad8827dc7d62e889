"""Parse statements: from text to nodes."""

from collections.abc import Callable

from sqlglot import TokenType, exp

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.rows_parser import RowsParser


class KsqlParser(RowsParser):
    """Parses statements."""

    def _parse_statement(self) -> exp.Expression | None:
        """Read the next statement. Called by sqlglot."""
        # A semicolon followed by a comment arrives as a statement of its own.
        if not self._curr or self._match(TokenType.SEMICOLON):
            return None
        token, comments = self._curr, list(self._curr.comments)
        for words, read in self._statements().items():
            if self.at_word(*words):
                is_query = words[0] in {"SELECT", "WITH"}
                if not is_query:
                    self._advance(len(words))
                found = read()
                found.add_comments(comments, prepend=True)
                # Queries set their own position, and have clauses that sqlglot's Select does not
                # know.
                return found if is_query else self.expression(found, token)
        self.raise_error(f"Unknown statement '{token.text}'", token)
        raise AssertionError

    def _statements(self) -> dict[tuple[str, ...], Callable[[], exp.Expression]]:
        """Return the first words of each statement (longer ones first) and its reader."""
        return {
            ("SELECT",): self.rows_statement,
            ("WITH",): self.rows_statement,
            ("CREATE",): self._create,
            ("INSERT", "INTO"): self._insert,
            ("DELETE", "FROM"): self._delete,
            ("DROP",): self._drop,
            ("ALTER", "SYSTEM"): self._alter_system,
            ("ALTER",): self._alter,
            ("TERMINATE",): lambda: self._query_command("TERMINATE"),
            ("PAUSE",): lambda: self._query_command("PAUSE"),
            ("RESUME",): lambda: self._query_command("RESUME"),
            ("SHOW",): self._show,
            ("LIST",): self._show,
            ("DESCRIBE",): self._describe,
            ("EXPLAIN",): self._explain,
            ("PRINT",): self._print,
            ("SET",): self._set,
            ("UNSET",): lambda: nodes.UnsetProperty(this=self.text()),
            ("DEFINE",): self._define,
            ("UNDEFINE",): lambda: nodes.Undefine(this=self.identifier("a variable")),
            ("RUN", "SCRIPT"): lambda: nodes.RunScript(this=self.text()),
            ("ASSERT",): self._assert,
        }

    # CREATE.

    def _create(self) -> exp.Expression:
        replace = self.take_word("OR", "REPLACE")
        if self.take_word("TYPE"):
            return self._create_type()
        if self.take_word("FUNCTION"):
            return self._create_function(replace=replace)
        if connector := self._connector("CREATE"):
            return connector
        read_only = self.take_word("SOURCE")
        everywhere: exp.Var | None = None
        if self.at_word("GLOBAL", "TABLE"):
            everywhere = self.expression(exp.Var(this="GLOBAL"), self._curr)
            self._advance()
        kind = self.take_one_of("STREAM", "TABLE")
        if kind is None:
            self.expected("STREAM", "TABLE", "TYPE")
        exists = self.take_word("IF", "NOT", "EXISTS")
        create = nodes.CreateSource(
            kind=kind,
            replace=replace,
            read_only=read_only,
            everywhere=everywhere,
            exists=exists,
            this=self.identifier(f"the name of a {str(kind).lower()}"),
            elements=self._elements(),
            properties=self._properties(),
        )
        if self.take_word("AS"):
            create.set("expression", self.persistent_query())
        return create

    def _create_type(self) -> exp.Expression:
        exists = self.take_word("IF", "NOT", "EXISTS")
        name = self.identifier("the name of a type")
        self.expect_word("AS")
        return nodes.CreateType(this=name, kind=self.data_type(), exists=exists)

    def _create_function(self, *, replace: bool) -> exp.Expression:
        exists = self.take_word("IF", "NOT", "EXISTS")
        name = self.identifier("the name of a function")
        self.expect_word("FROM")
        origin = self.text()
        return nodes.CreateFunction(this=name, origin=origin, replace=replace, exists=exists)

    def _elements(self) -> list[exp.Expression] | None:
        if not self._match(TokenType.L_PAREN):
            return None
        found = self.listed(self._element)
        self.expect(TokenType.R_PAREN, "')'")
        return found

    def _element(self) -> exp.Expression:
        token = self._curr
        element = nodes.Element(this=self.identifier("a column"), kind=self.data_type())
        if self.take_word("PRIMARY", "KEY"):
            element.set("role", "PRIMARY KEY")
        elif self.take_word("KEY"):
            element.set("role", "KEY")
        elif self.take_word("HEADERS"):
            element.set("role", "HEADERS")
        elif self.take_word("HEADER"):
            self.expect(TokenType.L_PAREN, "'('")
            element.set("role", "HEADER")
            element.set("header", self.text())
            self.expect(TokenType.R_PAREN, "')'")
        return self.expression(element, token)

    def _properties(self) -> list[exp.Expression] | None:
        if not self.take_word("WITH"):
            return None
        self.expect(TokenType.L_PAREN, "'('")
        found = self.listed(self._property, closing=TokenType.R_PAREN)
        self.expect(TokenType.R_PAREN, "')'")
        return found

    def _property(self) -> exp.Expression:
        token = self._curr
        name: exp.Expression
        name = (
            self.text() if token.token_type == TokenType.STRING else self.identifier("a property")
        )
        self.expect(TokenType.EQ, "'='")
        return self.expression(nodes.Property(this=name, value=self.literal()), token)

    # INSERT, DROP, ALTER.

    def _insert(self) -> exp.Expression:
        name = self.identifier("a stream or table")
        columns = self._names()
        if self.take_word("VALUES"):
            values = self._row()
            return nodes.InsertValues(this=name, columns=columns, expressions=values)
        if self.at_word("NULL", "VALUES"):
            return self._insert_tombstone(name, columns)
        after = self._ahead(1)
        properties = None
        if after is not None and after.token_type == TokenType.L_PAREN:
            properties = self._properties()
        query = self.persistent_query()
        return nodes.InsertSelect(this=name, properties=properties, expression=query)

    def _insert_tombstone(
        self, name: exp.Expression, columns: list[exp.Expression] | None
    ) -> exp.Expression:
        null = self.expression(exp.Var(this="NULL"), self._curr)
        self._advance(2)
        self.expect_word("KEY")
        values = self._row()
        return nodes.InsertValues(this=name, columns=columns, expressions=values, tombstone=null)

    def _delete(self) -> exp.Expression:
        deleted = nodes.DeleteRows(this=self.identifier("a table"))
        if self.take_word("WHERE"):
            deleted.set("where", exp.Where(this=self.condition()))
        return deleted

    def _names(self) -> list[exp.Expression] | None:
        if not self._match(TokenType.L_PAREN):
            return None
        names: list[exp.Expression] = list(self.listed(lambda: self.identifier("a column")))
        self.expect(TokenType.R_PAREN, "')'")
        return names

    def _row(self) -> list[exp.Expression]:
        self.expect(TokenType.L_PAREN, "'('")
        values = self.listed(self.condition)
        self.expect(TokenType.R_PAREN, "')'")
        return values

    def _drop(self) -> exp.Expression:
        if self.take_word("TYPE"):
            exists = self.take_word("IF", "EXISTS")
            return nodes.DropType(this=self.identifier("a type"), exists=exists)
        if self.take_word("FUNCTION"):
            exists = self.take_word("IF", "EXISTS")
            return nodes.DropFunction(this=self.identifier("a function"), exists=exists)
        if connector := self._connector("DROP"):
            return connector
        kind = self.take_one_of("STREAM", "TABLE")
        if kind is None:
            self.expected("STREAM", "TABLE", "TYPE")
        exists = self.take_word("IF", "EXISTS")
        name = self.identifier(f"the name of a {str(kind).lower()}")
        delete = self.take_word("DELETE", "TOPIC")
        return nodes.DropSource(kind=kind, this=name, exists=exists, delete_topic=delete)

    def _alter_system(self) -> exp.Expression:
        name = self.text()
        self.expect(TokenType.EQ, "'='")
        return nodes.AlterSystem(this=name, value=self.text())

    def _alter(self) -> exp.Expression:
        kind = self.take_one_of("STREAM", "TABLE")
        if kind is None:
            self.expected("STREAM", "TABLE", "SYSTEM")
        name = self.identifier(f"the name of a {str(kind).lower()}")
        return nodes.AlterSource(kind=kind, this=name, expressions=self.listed(self._added))

    def _added(self) -> exp.Expression:
        token = self._curr
        self.expect_word("ADD")
        self.take_word("COLUMN")
        return self.expression(
            nodes.Element(this=self.identifier("a column"), kind=self.data_type()), token
        )

    # Running queries.

    def _query_command(self, kind: str) -> exp.Expression:
        if self.take_word("ALL"):
            return nodes.QueryCommand(kind=kind)
        return nodes.QueryCommand(kind=kind, this=self.identifier("the id of a query"))

    def _explain(self) -> exp.Expression:
        if self.at_name() and self._ahead(1) is None:
            return nodes.Explain(this=self.identifier())
        upgrade = self.take_word("UPGRADE")
        explained = self._parse_statement()
        if explained is None:
            self.expected("a statement", "the id of a query")
        return nodes.Explain(this=explained, upgrade=upgrade)

    # Listings.

    def _show(self) -> exp.Expression:
        if self.take_word("ALL"):
            self.expect_word("TOPICS")
            return nodes.Show(kind="TOPICS", all=True, extended=self.take_word("EXTENDED"))
        if self.take_word("CONNECTOR", "PLUGINS"):
            return nodes.Show(kind="CONNECTOR PLUGINS")
        scope = self.take_one_of("SOURCE", "SINK")
        kinds = ("STREAMS", "TABLES", "TOPICS", "QUERIES", "PROPERTIES", "FUNCTIONS", "CONNECTORS")
        kind = self.take_one_of(*kinds, "TYPES", "VARIABLES")
        if kind is None or (scope and kind != "CONNECTORS"):
            self.expected(*kinds, "TYPES", "VARIABLES")
        extended = self.take_word("EXTENDED")
        return nodes.Show(kind=kind, extended=extended, this=scope and exp.var(scope))

    def _describe(self) -> exp.Expression:
        for kind, what in (("FUNCTION", "a function"), ("CONNECTOR", "a connector")):
            if (
                self.at_word(kind)
                and self._ahead(1) is not None
                and not self.at_word(kind, "EXTENDED")
            ):
                self._advance()
                return nodes.Describe(kind=kind, this=self.identifier(what))
        for kind in ("STREAMS", "TABLES"):
            if self.take_word(kind):
                return nodes.Describe(kind=kind, extended=self.take_word("EXTENDED"))
        # Old versions of ksqlDB had the word before the name, and PyPI's ksql still sends it so.
        before = self._ahead(1) is not None and self.take_word("EXTENDED")
        name = self.identifier("a stream or table")
        extended = before or self.take_word("EXTENDED")
        return nodes.Describe(kind="SOURCE", this=name, extended=extended)

    def _print(self) -> exp.Expression:
        literal = self._curr.token_type == TokenType.STRING
        printed = nodes.PrintTopic(this=self.text() if literal else self._topic_name())
        printed.set("from_beginning", self.take_word("FROM", "BEGINNING"))
        if self.take_one_of("INTERVAL", "SAMPLE"):
            printed.set("interval", self.integer())
        if self.take_word("LIMIT"):
            printed.set("limit", self.integer())
        return printed

    def _topic_name(self) -> exp.Identifier:
        """Read the name of a topic; unlike other names, it keeps its case."""
        token = self._curr
        name = self.identifier("a topic")
        return self.expression(exp.Identifier(this=token.text, quoted=name.quoted), token)

    # Session.

    def _set(self) -> exp.Expression:
        name = self.text()
        self.expect(TokenType.EQ, "'='")
        return nodes.SetProperty(this=name, value=self.text())

    def _define(self) -> exp.Expression:
        name = self.identifier("a variable")
        self.expect(TokenType.EQ, "'='")
        return nodes.Define(this=name, value=self.text())

    # ASSERT.

    def _assert(self) -> exp.Expression:
        if self.take_word("NULL", "VALUES"):
            return self._assert_values(tombstone=True)
        if self.take_word("VALUES"):
            return self._assert_values(tombstone=False)
        kind = self.take_one_of("STREAM", "TABLE")
        if kind:
            name, elements = self.identifier(), self._elements()
            properties = self._properties()
            return nodes.AssertSource(
                kind=kind, this=name, elements=elements, properties=properties
            )
        absent = self.take_word("NOT", "EXISTS")
        if self.take_word("TOPIC"):
            return self._assert_topic(absent=absent)
        self.expect_word("SCHEMA")
        return self._assert_schema(absent=absent)

    def _assert_values(self, *, tombstone: bool) -> exp.Expression:
        name, columns = self.identifier("a stream or table"), self._names()
        (self.expect_word("KEY") if tombstone else self.expect_word("VALUES"))
        return nodes.AssertValues(
            this=name, columns=columns, expressions=self._row(), tombstone=tombstone
        )

    def _assert_topic(self, *, absent: bool) -> exp.Expression:
        literal = self._curr.token_type == TokenType.STRING
        name = self.text() if literal else self._topic_name()
        properties, timeout = self._properties(), self._timeout()
        return nodes.AssertTopic(this=name, absent=absent, properties=properties, timeout=timeout)

    def _assert_schema(self, *, absent: bool) -> exp.Expression:
        claim = nodes.AssertSchema(absent=absent)
        if self.take_word("SUBJECT"):
            literal = self._curr.token_type == TokenType.STRING
            claim.set("subject", self.text() if literal else self._topic_name())
        if self.take_word("ID"):
            claim.set("id", self.integer())
        claim.set("timeout", self._timeout())
        return claim

    def _timeout(self) -> exp.Expression | None:
        return self.duration() if self.take_word("TIMEOUT") else None

    # Connectors.

    def _connector(self, verb: str) -> exp.Expression | None:
        start = self._index
        kind = self.take_one_of("SOURCE", "SINK") or ""
        if not self.take_word("CONNECTOR"):
            self._retreat(start)
            return None
        exists = self.take_word("IF", "NOT", "EXISTS") or self.take_word("IF", "EXISTS")
        words = " ".join(word for word in (verb, kind, "CONNECTOR") if word)
        return nodes.ConnectorCommand(
            kind=words,
            this=self.identifier("a connector"),
            properties=self._properties(),
            exists=exists,
        )
