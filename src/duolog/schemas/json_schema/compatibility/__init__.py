"""The difference of two JSON Schemas, and whether it breaks a reader.

    kinds.py        every kind of difference, its sentence, and which kinds are compatible
    comparison.py   the walk over two schemas: start here
    objects.py arrays.py combinations.py bounds.py   the differences of two shapes of one kind
    matching.py     pairs the branches of two combinations
    order.py        the order in which the registry reports properties

The rules, kinds and paths are those of Confluent's registry. It compares keyword by keyword, so it
overlooks some changes that break a reader:

- `if`, `then`, `else`, `propertyNames`, `contains` and `format` are not compared;
- `patternProperties` are only compared with properties that the other schema names;
- `required` is compared for properties that both schemas name;
- a `type` that is added next to keywords of this type is not a difference;
- under LENIENT, properties may be added to and removed from most content models.

It is stricter here than Confluent's registry: a reference to a reference is followed to its end,
`exclusiveMinimum: true` of draft 4 counts, and numbers are compared with all their digits.
"""
