"""The surface forms of every construction of `wording`, numbered from 0.

They differ in word order, in verb or noun, and in how they ask; a construction with fewer than four
natural forms repeats them. `end`, `first`, `second` and `phrase` are entities, `set` is several;
`answer` states the unit or format of the answer.
"""

from __future__ import annotations

FORMS = 4
"""Number of surface forms per construction."""
_TEXT = """
code: the {noun} with the code {code} | the {noun} whose code is {code} | {noun} {code}
  | the {noun} that has the code {code}
follow: the {noun} {clause} | the {noun} {clause} | the {relation} of {end} | the {noun} {clause}
follow role: the {relation} of {end}
follow role short: {end}'s {relation}
follow short: the {noun} {clause} | {end}'s {relation}
pick adjective: the {rank} {noun} {phrase} | the {rank} {noun} {phrase}
  | the {rank} of the {set} | the {rank} {noun} {phrase}
pick degree: the one {rank} of the {set}
pick verb: the {rank} of the {set} to {does}
pick repeated: the {rank} {noun} {phrase}
pick only: the only {noun} {phrase}
which adjective: the {more} of the two | the {more} of the two {plural}
which: the one {beside} | whichever {does} | the one {beside} | the one {who} {does}

step: {then}take {phrase}. | {then}find {phrase}.
choose: take | find
group: consider the {set}.
compared: compare {first} with {second}, and {take} {chosen}{label}.
chosen: of {those}, {take} {chosen}{label}.
pair: take two {plural}. One is {first}. The other is {second}.
  | consider two {plural}. One is {first}. The other is {second}.

ask clause: {which} {does}? | name {phrase}.
ask entity: {what} {phrase}? | name {phrase}.
ask of: of {those}, which one {ranked}? | which of {those} {ranked}?
ask best: of {those}, {which} is {best}?
ask only: of the {linked}, {which} is the only one {only}?
ask which: {which} {does}, {first} or {second}? | which {noun} {does}: {first} or {second}?
ask which pair: which of the two {does}? | which of the two {plural} {does}?
ask: what is the {noun} of {end}?{answer} | give the {noun} of {end}.{answer}
ask later: what date is {days} days after the {noun} of {end}?{answer}
  | give the date {days} days after the {noun} of {end}.{answer}
ask later verb: what date is {days} days after {end} {did}?{answer}
  | give the date {days} days after {end} {did}.{answer}
ask when: {when} {did} {end} {verb}?{answer}
ask counted: how many {counted} does {end} have?
ask initials: what are the initials of {end}? Answer in capitals without dots or spaces.
  | give the initials of {end}. Answer in capitals without dots or spaces.
ask digits: what number does the code of {end} contain?
  | give the number that the code of {end} contains.
ask gap: what is the difference in {noun} between {first} and {second}?{answer}
ask gap pair: what is the difference in {noun} between the two?{answer}
ask time: how many {unit} apart {did} {first} and {second} {verb}?
ask time pair: how many {unit} apart {did} the two {verb}?
  | how many {unit} apart {did} the two {plural} {verb}?
ask sum: what is the {how} {noun} of {those}?{answer}
  | give the {how} {noun} of {those}.{answer}
ask count: what is the number of {those}? | give the number of {those}.
"""


def _read(text: str) -> dict[str, tuple[str, ...]]:
    """Parse one construction per line, its forms after a colon; indented lines continue it."""
    lines = text.replace("\n  ", " ").split("\n")
    pairs = (line.split(": ", 1) for line in lines if line)
    forms = {name: tuple(said.split(" | ")) for name, said in pairs}
    return {name: (said * FORMS)[:FORMS] for name, said in forms.items()}


PHRASES = _read(_TEXT)
