"""Problems whose answer takes three sums."""

from benchmark.gsm8k.problem import Step, Template

THREE_STEP = (
    Template(
        key="two_purchases_change",
        numbers={"a": (2, 9), "b": (3, 50), "c": (10, 150), "d": (50, 700)},
        questions=(
            "{name} buys {a} {item} at ${b} each and a bag for ${c}, and pays with "
            "${d}. How many dollars of change does {name} get?",
            "With ${d} in hand, {name} goes to the {place} and pays ${b} for each of "
            "{a} {item} and ${c} for lunch. How much money is left?",
        ),
        steps=(
            Step("a * b", "The {item} cost {calc} dollars."),
            Step("r1 + c", "In total {name} pays {calc} dollars."),
            Step("d - r2", "That leaves {calc} dollars."),
        ),
    ),
    Template(
        key="two_ticket_kinds",
        numbers={"a": (2, 9), "b": (5, 60), "c": (2, 9), "d": (3, 50)},
        questions=(
            "The {place} sells {a} adult tickets at ${b} each and {c} child tickets "
            "at ${d} each. How many dollars is that in total?",
            "{name} orders {a} large tables for ${b} apiece and {c} small tables for "
            "${d} apiece. What is the whole price in dollars?",
        ),
        steps=(
            Step("a * b", "The first kind comes to {calc} dollars."),
            Step("c * d", "The second kind comes to {calc} dollars."),
            Step("r1 + r2", "The total is {calc} dollars."),
        ),
    ),
    Template(
        key="baskets_compared",
        numbers={"a": (2, 9), "b": (5, 90), "c": (2, 9), "d": (5, 90)},
        questions=(
            "{name} fills {a} baskets with {b} {item} each. {other} fills {c} baskets "
            "with {d} {item} each. How many more {item} does {name} have?",
            "{name} made {b} {item} a day for {a} days, and {other} made {d} a day "
            "for {c} days. By how many {item} is {name} ahead?",
        ),
        steps=(
            Step("a * b", "{name} has {calc} {item}."),
            Step("c * d", "{other} has {calc} {item}."),
            Step("r1 - r2", "The difference is {calc} {item}."),
        ),
    ),
    Template(
        key="rows_sold",
        numbers={"a": (2, 9), "b": (4, 40), "c": (10, 200), "d": (2, 9)},
        questions=(
            "{name} sets out {a} rows of {b} {item}. {c} of them break, and the rest "
            "are sold for ${d} each. How many dollars does {name} earn?",
            "The {place} gets {a} crates of {b} {item}, throws {c} away and sells all "
            "others at ${d} apiece. How much money does it take?",
        ),
        steps=(
            Step("a * b", "At first there are {calc} {item}."),
            Step("r1 - c", "Of these {calc} can be sold."),
            Step("r2 * d", "They bring {calc} dollars."),
        ),
    ),
    Template(
        key="pool_give_share",
        numbers={"a": (10, 400), "b": (10, 400), "c": (10, 300), "d": (2, 9)},
        questions=(
            "{name} has {a} {item} and {other} has {b}. They give {c} to {third} and "
            "put the rest equally in {d} jars. How many {item} are in each jar?",
            "{a} red {item} and {b} blue {item} reach the {place}. After {c} are "
            "used, {d} teams split the rest evenly. How many does each team get?",
        ),
        steps=(
            Step("a + b", "At first there are {calc} {item}."),
            Step("r1 - c", "Then {calc} {item} are left."),
            Step("r2 / d", "Each share is {calc} {item}."),
        ),
    ),
    Template(
        key="times_then_more",
        numbers={"a": (10, 90), "b": (2, 9), "c": (10, 99)},
        questions=(
            "{name} has {a} {item}. {other} has {b} times as many, and {third} has "
            "{c} more than {other}. How many do {name} and {third} have together?",
            "{other} found {b} times as many {item} as {name}, who found {a}. {third} "
            "found {c} more than {other}. How many did {name} and {third} find?",
        ),
        steps=(
            Step("a * b", "{other} has {calc} {item}."),
            Step("r1 + c", "{third} has {calc} {item}."),
            Step("a + r2", "{name} and {third} have {calc} {item}."),
        ),
    ),
    Template(
        key="daily_earn_spend",
        numbers={"a": (20, 99), "b": (2, 9), "c": (3, 80)},
        questions=(
            "{name} earns ${a} a day for {b} days and spends ${c} on each of those "
            "days. How many dollars does {name} keep?",
            "For {b} days the {place} takes in ${a} a day and pays out ${c} a day. "
            "How much money remains at the end?",
        ),
        steps=(
            Step("a * b", "The income is {calc} dollars."),
            Step("c * b", "The expenses are {calc} dollars."),
            Step("r1 - r2", "What remains is {calc} dollars."),
        ),
    ),
    Template(
        key="bus_stops",
        numbers={"a": (20, 99), "b": (10, 80), "c": (10, 80), "d": (10, 80)},
        questions=(
            "A train leaves with {a} people. At the {place} {b} get off and {c} get "
            "on. At the next stop {d} get off. How many people are on the train?",
            "{a} people are in the {place}. {b} leave, {c} come in, and then {d} "
            "leave. How many people are there now?",
        ),
        steps=(
            Step("a - b", "After the first change there are {calc} people."),
            Step("r1 + c", "Then there are {calc} people."),
            Step("r2 - d", "At the end there are {calc} people."),
        ),
    ),
    Template(
        key="trays_boxed",
        numbers={"a": (2, 9), "b": (5, 90), "c": (10, 200), "d": (2, 9)},
        questions=(
            "{name} loads {a} trays with {b} {item} each, gives {c} away and packs "
            "the others in boxes of {d}. How many boxes does {name} fill?",
            "{a} trays at the {place} hold {b} {item} each. {c} are taken, and the "
            "rest go in piles of {d}. How many piles are there?",
        ),
        steps=(
            Step("a * b", "The trays hold {calc} {item}."),
            Step("r1 - c", "Then {calc} {item} remain."),
            Step("r2 / d", "That makes {calc}."),
        ),
    ),
    Template(
        key="give_each_buy_more",
        numbers={"a": (40, 800), "b": (3, 60), "c": (2, 9), "d": (10, 190)},
        questions=(
            "{name} has {a} {item}, gives {b} to each of {c} friends and then buys "
            "{d} more. How many {item} does {name} have?",
            "From {a} {item} the {place} sends {b} to each of {c} schools. Then {d} "
            "new {item} come in. How many {item} does the {place} hold?",
        ),
        steps=(
            Step("b * c", "In all {calc} {item} are given."),
            Step("a - r1", "That leaves {calc} {item}."),
            Step("r2 + d", "In the end there are {calc} {item}."),
        ),
    ),
    Template(
        key="tank_filled",
        numbers={"a": (60, 900), "b": (3, 60), "c": (2, 9), "d": (10, 300)},
        questions=(
            "A tank holds {a} liters and has {d} liters in it. {name} adds {b} liters "
            "a minute for {c} minutes. How many more liters fit in?",
            "The {place} has room for {a} boxes and stores {d}. If {b} boxes arrive "
            "on each of {c} days, how much room is left?",
        ),
        steps=(
            Step("b * c", "In that time {calc} are added."),
            Step("d + r1", "Then {calc} are inside."),
            Step("a - r2", "There is room for {calc} more."),
        ),
    ),
    Template(
        key="meals_and_tip",
        numbers={"a": (2, 9), "b": (5, 60), "c": (10, 90), "d": (10, 60)},
        questions=(
            "{a} friends eat at the {place}. Each meal costs ${b}, the drinks cost "
            "${c} and they leave a tip of ${d}. How many dollars do they pay?",
            "{name} rents a boat for {a} hours at ${b} an hour, plus ${c} for fuel "
            "and ${d} for parking. What does it cost in dollars?",
        ),
        steps=(
            Step("a * b", "The first part is {calc} dollars."),
            Step("r1 + c", "With the next part it is {calc} dollars."),
            Step("r2 + d", "In total it is {calc} dollars."),
        ),
    ),
)
