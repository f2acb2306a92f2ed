"""Problems whose answer takes two sums."""

from benchmark.gsm8k.problem import Step, Template

TWO_STEP = (
    Template(
        key="buy_change",
        numbers={"a": (2, 9), "b": (3, 60), "c": (20, 600)},
        questions=(
            "{name} buys {a} {item} for ${b} each and pays with ${c}. "
            "How many dollars of change does {name} get?",
            "At the {place}, one of the {item} costs ${b}. {name} takes {a} and hands "
            "over ${c}. How much money does {name} get back?",
        ),
        steps=(
            Step("a * b", "The {item} cost {calc} dollars."),
            Step("c - r1", "{name} gets {calc} dollars back."),
        ),
    ),
    Template(
        key="earn_spend",
        numbers={"a": (2, 9), "b": (8, 80), "c": (10, 500)},
        questions=(
            "{name} works {a} hours at the {place} for ${b} an hour and then spends "
            "${c} on {item}. How many dollars are left?",
            "The {place} pays {name} ${b} for each of {a} hours. After buying {item} "
            "for ${c}, how much of that pay does {name} still have?",
        ),
        steps=(
            Step("a * b", "{name} earns {calc} dollars."),
            Step("r1 - c", "After the {item}, {calc} dollars are left."),
        ),
    ),
    Template(
        key="boxes_and_loose",
        numbers={"a": (2, 9), "b": (5, 90), "c": (10, 99)},
        questions=(
            "{name} has {a} boxes with {b} {item} in each box and {c} loose {item}. "
            "How many {item} does {name} have?",
            "A shelf at the {place} holds {a} boxes of {b} {item}, and {c} more "
            "{item} lie beside them. How many {item} are there in total?",
        ),
        steps=(
            Step("a * b", "The boxes hold {calc} {item}."),
            Step("r1 + c", "With the rest there are {calc} {item}."),
        ),
    ),
    Template(
        key="bags_shared",
        numbers={"a": (2, 9), "b": (4, 90), "c": (2, 9)},
        questions=(
            "{name} opens {a} bags of {b} {item} and shares them equally among {c} "
            "friends. How many {item} does each friend get?",
            "{a} bags hold {b} {item} each. If {c} children at the {place} split all "
            "of them evenly, how many {item} does each child receive?",
        ),
        steps=(
            Step("a * b", "There are {calc} {item} in the bags."),
            Step("r1 / c", "Each one gets {calc} {item}."),
        ),
    ),
    Template(
        key="pool_and_pack",
        numbers={"a": (10, 400), "b": (10, 400), "c": (2, 9)},
        questions=(
            "{name} has {a} {item} and {other} has {b} {item}. They pack all of them "
            "in bags of {c}. How many bags do they fill?",
            "{name} brings {a} {item} to the {place} and {other} brings {b}. Each "
            "visitor takes {c} until none remain. How many visitors are there?",
        ),
        steps=(
            Step("a + b", "Together they have {calc} {item}."),
            Step("r1 / c", "That makes {calc}."),
        ),
    ),
    Template(
        key="lose_find",
        numbers={"a": (20, 700), "b": (10, 600), "c": (10, 300)},
        questions=(
            "{name} had {a} {item}, lost {b} of them and later found {c} others. "
            "How many {item} does {name} have now?",
            "The {place} stored {a} {item}. {b} were sold and {c} new ones arrived. "
            "How many {item} does the {place} store now?",
        ),
        steps=(
            Step("a - b", "First there were {calc} {item} left."),
            Step("r1 + c", "Then there were {calc} {item}."),
        ),
    ),
    Template(
        key="some_more",
        numbers={"a": (10, 400), "b": (10, 190)},
        questions=(
            "{name} has {a} {item}. {other} has {b} more {item} than {name}. "
            "How many {item} do they have together?",
            "{other} collected {b} {item} more than {name}, who collected {a}. "
            "What is the number of {item} that the two collected?",
        ),
        steps=(
            Step("a + b", "{other} has {calc} {item}."),
            Step("a + r1", "Together they have {calc} {item}."),
        ),
    ),
    Template(
        key="times_as_many",
        numbers={"a": (10, 150), "b": (2, 9)},
        questions=(
            "{name} made {a} {item}. {other} made {b} times as many. "
            "How many {item} did they make in all?",
            "{name} counts {a} {item} at the {place}, and {other} counts {b} times "
            "that number. How many {item} did both count?",
        ),
        steps=(
            Step("a * b", "{other} comes to {calc} {item}."),
            Step("a + r1", "In all there are {calc} {item}."),
        ),
    ),
    Template(
        key="fewer_then_times",
        numbers={"a": (10, 200), "b": (10, 150), "c": (2, 9)},
        questions=(
            "{name} has {a} {item}. {other} has {b} fewer than {name}, and {third} "
            "has {c} times as many as {other}. How many {item} does {third} have?",
            "{third} owns {c} times as many {item} as {other}. {other} owns {b} fewer "
            "than {name}, who owns {a}. How many {item} does {third} own?",
        ),
        steps=(
            Step("a - b", "{other} has {calc} {item}."),
            Step("r1 * c", "{third} has {calc} {item}."),
        ),
    ),
    Template(
        key="pages_left",
        numbers={"a": (60, 900), "b": (5, 90), "c": (2, 9)},
        questions=(
            "A book has {a} pages. {name} reads {b} pages a day for {c} days. "
            "How many pages are left?",
            "{name} borrows a book of {a} pages from the {place}. After {c} days of "
            "{b} pages each, how many pages remain?",
        ),
        steps=(
            Step("b * c", "{name} reads {calc} pages."),
            Step("a - r1", "There are {calc} pages left."),
        ),
    ),
    Template(
        key="saving_goal",
        numbers={"a": (50, 900), "b": (10, 600), "c": (2, 9)},
        questions=(
            "A bike costs ${a}. {name} already has ${b} and saves ${c} a week. "
            "How many weeks does it take to save the rest?",
            "{name} needs ${a} for a trip to the {place} and has ${b}. Putting away "
            "${c} each week, how many weeks will {name} need?",
        ),
        steps=(
            Step("a - b", "{name} still needs {calc} dollars."),
            Step("r1 / c", "It takes {calc} weeks."),
        ),
    ),
    Template(
        key="morning_afternoon",
        numbers={"a": (10, 90), "b": (10, 90), "c": (2, 9)},
        questions=(
            "{name} sold {a} {item} in the morning and {b} in the afternoon for ${c} "
            "each. How many dollars did {name} take in?",
            "At ${c} each, {a} {item} are sold at the {place} on Monday and {b} on "
            "Tuesday. How much money is that?",
        ),
        steps=(
            Step("a + b", "In total {calc} {item} were sold."),
            Step("r1 * c", "They brought {calc} dollars."),
        ),
    ),
)
