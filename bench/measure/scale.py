"""How much is measured: a whole run, or one that only shows that everything can be measured."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Scale:
    quick: bool

    def of(self, whole, quick):
        return quick if self.quick else whole
