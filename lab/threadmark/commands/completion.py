"""`threadmark completion`: the script by which a shell completes the commands and their options."""

from __future__ import annotations

import sys
from typing import Literal

import cyclopts


def command(app: cyclopts.App) -> None:
    """Register the command. `app` must have all others: the script is about them."""

    def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
        """Print a script by which a shell completes commands and options.

        In bash: `source <(./threadmark completion bash)`; a line of that kind in ~/.bashrc keeps
        it. For zsh write it to a file `_threadmark` in a folder of `fpath`, for fish to
        ~/.config/fish/completions/threadmark.fish.

        Parameters
        ----------
        shell
            bash, zsh or fish.
        """
        script = app.generate_completion(prog_name="threadmark", shell=shell)
        if shell == "bash":  # file names if the script knows no word
            script = script.replace("complete -F", "complete -o default -F")
        sys.stdout.write(script)

    app.command(completion)
