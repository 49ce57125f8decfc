"""Ask a person at the terminal to allow or refuse each tool call before it runs."""

from __future__ import annotations

import json
import signal
import sys

import anyio

from toolhop_agents.terminal import say
from toolhop_env.responders import Refusal
from toolhop_env.verdicts import Call

ASKED = "run it? y, n, or why not (the agent reads it): "


def decision(text: str) -> Refusal | None:
    """Return None for ``y`` or ``yes``, else a refusal that quotes the text, unless it is ``n``."""
    said = text.strip()
    if said.lower() in ("y", "yes"):
        return None
    return Refusal("" if said.lower() in ("n", "no") else said)


class TerminalApprover:
    """An approver that shows each call and waits for a line; Ctrl-C and Ctrl-D interrupt the
    run.
    """

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        """See `toolhop_env.responders.Approver`. An empty line asks again."""
        from prompt_toolkit import PromptSession  # importing takes a tenth of a second
        from prompt_toolkit.output import create_output

        arguments = json.dumps(call.arguments, ensure_ascii=False)
        say(episode)
        say(f"  {call.tool}({arguments})")
        session: PromptSession[str] = PromptSession(output=create_output(sys.stderr))
        try:
            text = ""
            while not text.strip():
                text = await session.prompt_async(ASKED, handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            signal.raise_signal(signal.SIGINT)
            await anyio.sleep_forever()
        return decision(text)
