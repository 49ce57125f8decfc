"""Dishes of the Larkfield Kitchen Handbook, a book made up for this tool."""

# Course, whether without meat and fish, and the allergens.
DISHES = {
    "baked trout": ("main", False, "fish milk"),
    "chicken pie": ("main", False, "egg gluten milk"),
    "chickpea bake": ("main", True, "sesame"),
    "fish cakes": ("main", False, "egg fish gluten"),
    "lamb hotpot": ("main", False, "celery"),
    "lentil loaf": ("main", True, "celery egg"),
    "pork roast": ("main", False, "mustard"),
    "potato gratin": ("main", True, "milk"),
    "spinach quiche": ("main", True, "egg gluten milk"),
    "stuffed peppers": ("main", True, "nuts"),
    "vegetable lasagne": ("main", True, "celery gluten milk"),
    "beetroot tart": ("starter", True, "gluten milk"),
    "crab toast": ("starter", False, "crustaceans gluten"),
    "leek soup": ("starter", True, "celery milk"),
    "marinated olives": ("starter", True, ""),
    "smoked eel": ("starter", False, "fish mustard"),
    "almond meringue": ("dessert", True, "egg nuts"),
    "baked apple": ("dessert", True, ""),
    "cherry clafoutis": ("dessert", True, "egg gluten milk"),
    "oat crumble": ("dessert", True, "gluten"),
    "rice pudding": ("dessert", True, "milk"),
}


def larkfield_dishes(
    course: str, avoid: list[str] | None = None, meatless: bool = False
) -> list[str] | dict[str, str]:
    """Return the handbook's dishes of a course without the allergens to avoid, from A to Z."""
    known = {allergen for entry in DISHES.values() for allergen in entry[2].split()}
    unwanted = {allergen.strip().casefold() for allergen in avoid or []}
    strange = sorted(unwanted - known)
    if strange:
        names = ", ".join(sorted(known))
        return {"error": f"avoid: {strange[0]!r} is no allergen in the book; it marks {names}"}
    found = [
        dish
        for dish, (part, without_meat, allergens) in DISHES.items()
        if part == course
        and (without_meat or not meatless)
        and unwanted.isdisjoint(allergens.split())
    ]
    if not found:
        return {"error": f"avoid: no {course} in the book is free of all that; avoid less"}
    return sorted(found)
