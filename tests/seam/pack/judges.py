"""A judge of a package, with a bug: it fails at every other question."""


class Broken:
    """Raises what is no fault of a model's."""

    name = "broken"

    def __init__(self):
        self.asked = 0

    async def answer(self, question):
        self.asked += 1
        if self.asked % 2:
            return None
        return {}["price"]


BROKEN = Broken()
