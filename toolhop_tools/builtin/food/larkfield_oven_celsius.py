"""Oven settings of the Larkfield Kitchen Handbook, a book made up for this tool."""

# Degrees Celsius with heat from above and below.
OVEN = {
    100: ("almond meringue",),
    140: ("rice pudding",),
    155: ("lamb hotpot",),
    165: ("pork roast",),
    170: ("cherry clafoutis", "spinach quiche"),
    175: ("lentil loaf", "potato gratin"),
    180: ("baked apple", "stuffed peppers", "vegetable lasagne"),
    190: ("baked trout", "oat crumble"),
    195: ("chickpea bake", "chicken pie"),
    205: ("beetroot tart",),
    215: ("fish cakes",),
    230: ("crab toast",),
}
FAN_DROP = 20


def larkfield_oven_celsius(dish: str, fan: bool = False) -> int | dict[str, str]:
    """Return the oven temperature for a dish in degrees Celsius, 20 lower in a fan oven."""
    wanted = " ".join(dish.split()).casefold()
    for degrees, dishes in OVEN.items():
        if wanted in dishes:
            return degrees - FAN_DROP if fan else degrees
    baked = ", ".join(sorted(name for dishes in OVEN.values() for name in dishes))
    return {"error": f"dish: the book does not bake {dish!r}; it bakes {baked}"}
