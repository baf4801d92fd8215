"""What a bundle will be: to the byte, before it is written."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.stores.bundles.test_bundle import Left, described
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles import export
from torchkeeper.stores.bundles import export as exporting


@pytest.mark.parametrize("fixture", ["kept_291", "kernels", "filled"])
def test_the_size_is_foretold_to_the_byte(
    fixture: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder, ones = described(request.getfixturevalue(fixture))
    left, again = Left(), Left()
    planned = export.plan(ones, folder, Report(), left)
    output = tmp_path / "b.torchcache"
    done = exporting.export(ones, folder, str(output), Report(), again)
    assert planned.size == output.stat().st_size
    assert (planned.entries, planned.files, planned.bytes) == (
        done.entries,
        done.files,
        done.bytes,
    )
    assert left.codes == again.codes
    assert sum(one.entries for one in planned.kinds) == done.entries
    assert sum(one.bytes for one in planned.kinds) == done.bytes


def test_what_it_says_of_where_they_were_made(kept_291: Path) -> None:
    folder, ones = described(kept_291)
    planned = export.plan(ones, folder, Report(), Left())
    assert [torch for torch, _ in planned.torches] == ["2.9.1+cu128"]
    assert [device for device, _ in planned.devices] == ["cpu"]
    assert planned.made_in
    assert planned.made_in["torch"] == "2.9.1+cu128"


def test_what_stays_out_is_told_with_its_reason(fixture_cache: Path) -> None:
    next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()).write_bytes(b"x")
    (fixture_cache / "locks").mkdir(exist_ok=True)
    (fixture_cache / "locks" / f"c{'a' * 51}.lock").touch()
    folder, ones = described(fixture_cache)
    left = Left()
    planned = export.plan(ones, folder, Report(), left)
    assert {"entry-broken", "kind-not-portable"} == set(left.codes)
    assert planned.entries + len(left.codes) == len(ones)


def test_big_members_are_counted_as_zipfile_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against zipfile itself, which calls a thousand bytes big here."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    monkeypatch.setattr(export, "_BIG", 1000)
    members = [("small", 10, False), ("big", 1005, True), ("after", 7, False), ("more", 1001, True)]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, size, roomy in members:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=roomy) as member:
                member.write(bytes(size))
    planned = export._Members()
    for one in members:
        planned.add(*one)
    assert planned.size == len(out.getvalue())
