"""Commands that people are told to run."""

import subprocess

import pytest

from executor.mcp._failures import Refusal, http_words
from executor.pasted import operand, within

ODD = ["plain", "two words", "it's", "x; echo more", "$(echo more)", "*", "a\nb", "-n", "--yes", "ä", ""]


@pytest.mark.parametrize("word", ODD)
def test_a_word_is_one_operand_when_it_is_pasted(word):
    line = f"printf '<%s>' {operand(word)}"
    shown = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, cwd="/").stdout
    assert shown.removeprefix("<-->") == f"<{word}>"
    assert word[:1] != "-" or shown.startswith("<-->")


@pytest.mark.parametrize("word", ODD)
def test_a_command_within_a_sentence_is_one_also_when_it_is_pasted_with_its_quotes(word):
    told = within("printf x", word)
    ran = subprocess.run(["sh", "-c", told], capture_output=True, text=True, check=False)
    assert "more" not in ran.stdout


def test_the_name_of_a_server_is_a_word_of_the_advice():
    told = http_words(Refusal(401), "x; touch here")
    assert "toolexec mcp login 'x; touch here' logs in" in told
    assert "'toolexec mcp login guarded' logs in" in http_words(Refusal(401), "guarded")
