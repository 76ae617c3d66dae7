"""What lies in a folder after files were written to it, or after that was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

import symbptt
from symbptt.model.read import loads, source_text
from symbptt.render import target
from symbptt.render.certificate import certificate
from symbptt.render.target import write, write_all


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_is_stopped_leaves_nothing_behind(stop: type[BaseException], tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    stage = target._staged

    def stopped(whole: Path, text: str) -> Path:
        if whole.name == "b":
            raise stop
        return stage(whole, text)

    monkeypatch.setattr(target, "_staged", stopped)
    with pytest.raises(stop):
        write_all({tmp_path / "a": "one", tmp_path / "b": "two"})
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        write(tmp_path / "file" / "below", "text")


def test_the_certificate_of_another_model_does_not_stay(tmp_path: Path) -> None:
    made = symbptt.derive(loads(source_text("linear")))
    changed = symbptt.derive(loads(source_text("linear").replace("x + W_hh", "x - W_hh")))
    place = tmp_path / "certificate" / "linear.v"
    place.parent.mkdir()
    for text, stays in ((certificate(made.record), True), ("Lemma mine : True.\n", True),
                        (certificate(changed.record), False)):
        place.write_text(text, encoding="utf-8")
        made.save(tmp_path)
        assert place.is_file() == stays
