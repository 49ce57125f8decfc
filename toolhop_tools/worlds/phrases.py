"""The surface forms of every construction of `wording`, numbered from 0.

What may be long stands last. `end`, `first`, `second` and `phrase` are entities, `set` is several;
`inline` and `answer` say in which unit or form the answer is given.
"""

from __future__ import annotations

FORMS = 4
"""Surface forms of each construction."""
_TEXT = """
code: the {noun} with the code {code} | the {noun} whose code is {code} | {noun} {code}
  | the {noun} that has the code {code}
follow: the {relation} of {end} | the {noun} {who} {does}
  | the {noun} {who} is the {relation} of {end} | whichever {noun} {does}
follow typed: the {noun} {who} {does} | the {noun} {who} {does} | the {noun} {who} {does}
  | whichever {noun} {does}
follow alike: the {relation} of {end} | the {noun} {who} {does}
  | the {relation} of {end} | whichever {noun} {does}
follow short: the {relation} of {end} | the {noun} {who} {does}
  | {end}'s {relation} | whichever {noun} {does}
pick adjective: the {rank} {noun} {phrase} | the {rank} of the {set}
  | the {rank} {noun} among {those} | the {rank} of all the {set}
pick degree: the {noun} with the {rank} among {those}
  | the {noun} {who} has the {rank} among {those}
  | the {noun} with the {rank} of any {noun} {phrase}
  | the {noun} with the {rank} out of {those}
pick only: the only {noun} {phrase} | the {noun} {phrase} | the one {noun} {phrase}
  | the sole {noun} {phrase}
which: whichever of the two {does} | the one of the two {who} {does}
  | whichever of these two {plural} {does} | the one of these two {plural} {who} {does}

compare: compare {first} and {second}. | consider two {plural}: {first} and {second}.
  | compare two {plural}: {first} and {second}. | look at {first} and {second}.
step: {then}take {phrase}. | {then}find {phrase}. | {then}consider {phrase}. | {question}?
label: let {label} be {phrase}. | {label} is {phrase}. | below, {label} is {phrase}.
  | by {label} we mean {phrase}.
pair: take two {plural}. The first is {first}. The second is {second}.
  | consider two {plural}: first, {first}; second, {second}.
  | find two {plural}: the first is {first}, and the second is {second}.
  | let the first {noun} be {first}. Let the second {noun} be {second}.

ask entity: {question}? | what is the name of {phrase}? | name {phrase}.
  | give the name of {phrase}.
ask which: of {first} and {second}, {which} {does}? | {which} {does}, {first} or {second}?
  | which {noun} {does}: {first} or {second}? | which of these two {does}: {first} or {second}?
ask which pair: which of the two {does}? | which of these two {plural} {does}?
  | of the two, {which} {does}? | {which} {does}, the first {noun} or the second?
ask: what is the {noun}{inline} of {end}? | what is the {noun} of {end}?{answer}
  | give the {noun}{inline} of {end}. | state the {noun} of {end}.{answer}
ask when: {when} was {end} {verb}?{answer} | what is the {noun}{inline} of {end}?
  | give the {noun}{inline} of {end}. | state the {noun} of {end}.{answer}
ask gap: what is the difference in {noun}{inline} between {first} and {second}?
  | what is the difference in {noun} between {first} and {second}?{answer}
  | give the difference in {noun}{inline} between {first} and {second}.
  | by how much does the {noun} of {first} differ from that of {second}?{answer}
ask time: how many {unit} lie between the {noun} of {first} and that of {second}?
  | what is the difference, in {unit}, between the {noun} of {first} and that of {second}?
  | give the number of {unit} between the {noun} of {first} and that of {second}.
  | by how many {unit} does the {noun} of {first} differ from that of {second}?
ask sum: what is the {how} {noun}{inline} of the {set}?
  | what is the {how} {noun} of the {set}?{answer} | give the {how} {noun}{inline} of the {set}.
  | state the {how} {noun} of the {set}.{answer}
ask count: what is the number of {set}? | count the {set}. | give the number of {set}.
  | state the number of {set}.
"""


def _read(text: str) -> dict[str, tuple[str, ...]]:
    """A construction a line, its forms after a colon; an indented line goes on."""
    lines = text.replace("\n  ", " ").split("\n")
    pairs = (line.split(": ", 1) for line in lines if line)
    return {name: tuple(forms.split(" | ")) for name, forms in pairs}


PHRASES = _read(_TEXT)
