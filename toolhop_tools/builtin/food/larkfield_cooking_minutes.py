"""Cooking times of the Larkfield Kitchen Handbook, a book made up for this tool."""

MINUTES = {
    "almond meringue": 90,
    "baked apple": 40,
    "baked trout": 35,
    "beetroot tart": 55,
    "cherry clafoutis": 45,
    "chicken pie": 80,
    "chickpea bake": 48,
    "crab toast": 12,
    "fish cakes": 30,
    "lamb hotpot": 165,
    "leek soup": 38,
    "lentil loaf": 65,
    "oat crumble": 42,
    "pork roast": 130,
    "potato gratin": 75,
    "rice pudding": 110,
    "spinach quiche": 58,
    "stuffed peppers": 50,
    "vegetable lasagne": 70,
}


def larkfield_cooking_minutes(dishes: list[str]) -> list[int] | dict[str, str]:
    """Return the minutes each dish needs on the stove and in the oven, in the order given."""
    keys = [" ".join(dish.split()).casefold() for dish in dishes]
    uncooked = [dish for dish, key in zip(dishes, keys, strict=True) if key not in MINUTES]
    if uncooked:
        listed = ", ".join(MINUTES)
        return {"error": f"dishes: the book cooks no {uncooked[0]!r}; it has times for {listed}"}
    return [MINUTES[key] for key in keys]
