import json

import pytest

from ledgerline.dates import Period
from ledgerline.errors import DuplicateError, NotFoundError, StorageError
from ledgerline.storage import FileStore, MemoryStore


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryStore()
    return FileStore(tmp_path / "books.jsonl")


def test_add_makes_keys(store, rent, salary):
    assert store.add(rent).key == "t000001"
    assert store.add(salary).key == "t000002"
    assert len(store) == 2


def test_add_keeps_a_given_key(store, rent):
    assert store.add(rent.with_key("own")).key == "own"
    assert store.get("own").payee == "Landlord"


def test_add_refuses_duplicates(store, rent):
    store.add(rent.with_key("own"))
    with pytest.raises(DuplicateError, match="exists already"):
        store.add(rent.with_key("own"))
    assert len(store) == 1


def test_get_returns_the_stored_transaction(store, rent):
    stored = store.add(rent)
    assert store.get(stored.key) == stored


def test_get_unknown_key(store):
    with pytest.raises(NotFoundError) as caught:
        store.get("nope")
    assert caught.value.context == {"key": "nope"}


def test_remove(store, rent):
    stored = store.add(rent)
    assert store.remove(stored.key) == stored
    assert len(store) == 0
    with pytest.raises(NotFoundError):
        store.remove(stored.key)


def test_iteration_is_by_date(store, rent, salary, groceries):
    store.add_all([groceries, salary, rent])
    assert [item.payee for item in store] == ["Landlord", "Employer", "Corner shop"]


def test_add_all_returns_the_keys(store, books):
    assert [item.key for item in store.add_all(books)] == ["t000001", "t000002", "t000003"]


def test_find_everything(store, books):
    store.add_all(books)
    assert len(store.find()) == 3


def test_find_by_period(store, books):
    store.add_all(books)
    assert [item.payee for item in store.find(period=Period.month(2024, 2))] == ["Corner shop"]


def test_find_by_scope(store, books):
    store.add_all(books)
    assert [item.payee for item in store.find(scope="assets:bank")] == ["Landlord", "Employer"]


def test_find_by_tag(store, books):
    store.add_all(books)
    assert [item.payee for item in store.find(tag="work")] == ["Employer"]


def test_find_by_all_conditions(store, books):
    store.add_all(books)
    assert store.find(Period.month(2024, 1), "expenses", "work") == []


def test_file_store_outlives_the_object(tmp_path, books):
    path = tmp_path / "books.jsonl"
    stored = FileStore(path).add_all(books)
    assert list(FileStore(path)) == stored


def test_file_store_saves_single_changes(tmp_path, rent, salary):
    path = tmp_path / "books.jsonl"
    store = FileStore(path)
    store.add(rent)
    store.add(salary)
    assert len(FileStore(path)) == 2
    store.remove("t000001")
    assert [item.payee for item in FileStore(path)] == ["Employer"]


def test_file_store_counts_on(tmp_path, rent, salary):
    path = tmp_path / "books.jsonl"
    FileStore(path).add_all([rent.with_key("t000041"), salary.with_key("tx"), salary.with_key("7")])
    assert FileStore(path).add(rent).key == "t000042"


def test_file_store_keeps_what_was_added_before_a_failure(tmp_path, rent):
    path = tmp_path / "books.jsonl"
    store = FileStore(path)
    with pytest.raises(DuplicateError):
        store.add_all([rent.with_key("a"), rent.with_key("a")])
    assert [item.key for item in FileStore(path)] == ["a"]


def test_file_store_writes_one_object_per_line(tmp_path, books):
    path = tmp_path / "books.jsonl"
    FileStore(path).add_all(books)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["t000001", "t000002", "t000003"]
    assert lines[0].startswith('{"date": "2024-01-05", "key": "t000001", "payee": "Landlord"')


def test_file_store_leaves_no_temporary_file(tmp_path, rent):
    FileStore(tmp_path / "books.jsonl").add(rent)
    assert [path.name for path in tmp_path.iterdir()] == ["books.jsonl"]


def test_file_store_skips_blank_lines(tmp_path, rent):
    path = tmp_path / "books.jsonl"
    record = json.dumps(rent.with_key("a").to_dict())
    path.write_text(f"\n{record}\n\n", encoding="utf-8")
    assert len(FileStore(path)) == 1


@pytest.mark.parametrize("record", ["{", "{}", "[1]", '{"date": "x", "payee": "", "postings": []}'])
def test_file_store_names_the_bad_line(tmp_path, record):
    path = tmp_path / "books.jsonl"
    path.write_text(f"\n{record}\n", encoding="utf-8")
    with pytest.raises(StorageError, match="bad record") as caught:
        FileStore(path)
    assert caught.value.context == {"path": "books.jsonl", "line": 2}


def test_file_store_cannot_write(tmp_path, rent):
    store = FileStore(tmp_path / "missing" / "books.jsonl")
    with pytest.raises(StorageError, match="cannot write store") as caught:
        store.add(rent)
    assert caught.value.context == {"path": "books.jsonl"}
