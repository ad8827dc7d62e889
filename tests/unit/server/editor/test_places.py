from duolog.server.editor.places import Places, Substituted


def test_places_of_plain_text_are_its_characters() -> None:
    places = Places("ab\ncd")

    assert [places.units(at) for at in range(6)] == [0, 1, 2, 3, 4, 5]
    assert places.json(3) == {"offset": 3, "line": 2, "column": 1}
    assert places.json(2) == {"offset": 2, "line": 1, "column": 3}


def test_characters_beyond_the_basic_plane_are_two_units() -> None:
    text = "😀x😀\n😀y"
    places = Places(text)

    for at in range(len(text) + 1):
        units = len(text[:at].encode("utf-16-le")) // 2
        assert places.units(at) == units
        assert places.characters(units) == at
    assert places.json(5) == {"offset": 8, "line": 2, "column": 3}


def test_half_a_character_is_its_start() -> None:
    assert Places("x😀x").characters(2) == 1


def test_places_after_variables_are_moved_back() -> None:
    text = "SELECT ${a}, ${b} FROM ${missing}"
    found = Substituted(text, {"A": "one", "B": ""})

    assert found.text == "SELECT one,  FROM ${missing}"
    assert found.origin(3) == (3, 3)
    assert found.origin(8) == (7, 11)
    assert found.origin(found.text.index("FROM")) == (text.index("FROM"), text.index("FROM"))
    assert found.unknown == [("missing", text.index("${missing}"))]
