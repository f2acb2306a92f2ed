"""Names, things and places that the templates are filled with."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words(
    "Aaron Abby Adam Alice Amir Anna Arturo Bella Ben Bianca Boris Carla Carmen "
    "Chen Clara Dana Darius David Diego Elena Eli Emma Erik Farah Felix Fiona "
    "Gavin Grace Hana Harold Hugo Ines Ivan Jada James Jin Joan Jorge Julia Kai "
    "Karen Kofi Laila Leo Lin Lucas Maria Marcus Maya Mei Milo Nadia Nina Noah "
    "Olga Omar Oscar Paula Pedro Priya Quinn Rachel Ravi Rosa Ruben Sam Sara "
    "Simon Sofia Tariq Tess Theo Tina Uma Victor Wei Wendy Yara Yusuf Zoe"
)

ITEMS = _words(
    "apples bananas beads books bottles brushes buttons candles cards carrots "
    "coins cookies crayons cups erasers flags flowers hats jars kites lamps "
    "lemons magnets marbles markers muffins notebooks oranges peaches pencils "
    "pens pins plates postcards puzzles ribbons rulers scarves shells spoons "
    "stamps stickers stones tapes tiles towels toys whistles"
)

PLACES = _words(
    "bakery bookshop cafe camp clinic club farm garage harbor library market "
    "museum office park school shop station studio theater zoo"
)
