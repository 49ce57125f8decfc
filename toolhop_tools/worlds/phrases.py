"""The surface forms of every construction of `wording`, numbered from 0.

What may be long stands last. `end`, `first`, `second` and `phrase` are entities, `set` is several.
"""

from __future__ import annotations

FORMS = 4
"""Surface forms of each construction."""
_TEXT = """
code: the {noun} with the code {code} | the {noun} whose code is {code} | {noun} {code}
  | the {noun} that has the code {code}
follow: the {relation} of {end} | the {noun} {who} is the {relation} of {end}
  | the {relation} listed for {end} | the {noun} listed as the {relation} of {end}
follow alike: the {relation} of {end} | the {relation} listed for {end}
  | the {relation} recorded for {end} | the {relation} given for {end}
follow short: the {relation} of {end} | {end}'s {relation} | the {relation} listed for {end}
  | the {relation} recorded for {end}
pick adjective: the {rank} {noun} {phrase} | the {rank} of the {set} | the {rank} among the {set}
  | the {rank} of all the {set}
pick degree: the {noun} with the {rank} among {those} | the one with the {rank} among the {set}
  | the {noun} with the {rank} of all {those} | the {noun} {who} has the {rank} among the {set}
pick only: the {noun} {phrase} | the only {noun} {phrase} | the one {noun} {phrase}
  | the one and only {noun} {phrase}
which: the one of the two {who} {does} | whichever of the two {does}
  | whichever of these two {plural} {does} | the one of these two {plural} {who} {does}

compare: compare {first} and {second}. | consider two {plural}: {first} and {second}.
  | compare two {plural}: {first} and {second}. | look at {first} and {second}.
step: {then}take {phrase}. | {then}find {phrase}. | {then}consider {phrase}. | {question}?
label: let {label} be {phrase}. | {label} is {phrase}. | take {label}, which is {phrase}.
  | call this {label}: {phrase}.
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
ask number: what is the {noun} ({measure}) of {end}?
  | what is the {noun} of {end}? Answer {measure}.
  | give the {noun}, {measure}, of {end}. | {measure}, what is the {noun} of {end}?
ask number short: what is the {noun} of {end}, {measure}?
  | what is the {noun} of {end}? Answer {measure}. | give the {noun} of {end} {measure}.
  | {measure}, what is the {noun} of {end}?
ask year: {ask} | {other} | give the {noun} of {end}. | state the {noun} of {end}.
ask date: {ask} Answer as YYYY-MM-DD. | {other} Give the date as YYYY-MM-DD.
  | give the {noun}, as YYYY-MM-DD, of {end}. | what is the {noun} (YYYY-MM-DD) of {end}?
ask plain: what is the {noun} of {end}? | tell me the {noun} of {end}. | give the {noun} of {end}.
  | state the {noun} of {end}.
ask gap: what is the difference in {noun}, in {unit}, between {first} and {second}?
  | by how many {unit} does the {noun} of {first} differ from that of {second}?
  | in {unit}, what is the difference in {noun} between {first} and {second}?
  | how great is the difference in {noun}, in {unit}, between {first} and {second}?
ask time: how many {unit} lie between the {noun} of {first} and that of {second}?
  | how many {unit} apart are the {noun} of {first} and that of {second}?
  | what is the difference, in {unit}, between the {noun} of {first} and that of {second}?
  | by how many {unit} does the {noun} of {first} differ from that of {second}?
ask sum: what is the {how} {noun}, {measure}, of the {set}?
  | what is the {how} {noun} of the {set}? Answer {measure}.
  | {measure}, what is the {how} {noun} of all the {set}?
  | give the {how} {noun}, {measure}, of the {set}.
ask count: how many {plural} are {phrase}? | what is the number of {set}? | count the {set}.
  | give the number of {set}.
"""


def _read(text: str) -> dict[str, tuple[str, ...]]:
    """A construction a line, its forms after a colon; an indented line goes on."""
    lines = text.replace("\n  ", " ").split("\n")
    pairs = (line.split(": ", 1) for line in lines if line)
    return {name: tuple(forms.split(" | ")) for name, forms in pairs}


PHRASES = _read(_TEXT)
