"""A client that knows nothing of Fillrate: pytest-lsp."""

import os
import pathlib
import time

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

WORKSPACE = pathlib.Path(os.environ["FILLRATE_TEST_WORKSPACE"])
URI = (WORKSPACE / "open.py").as_uri()


@pytest_lsp.fixture(
    config=ClientServerConfig(
        server_command=[
            os.environ["FILLRATE_TEST_SERVER"],
            "serve",
            "--config",
            os.environ["FILLRATE_TEST_SETTINGS"],
        ]
    )
)
async def client(lsp_client: LanguageClient):
    parameters = types.InitializeParams(
        capabilities=types.ClientCapabilities(),
        root_uri=WORKSPACE.as_uri(),
    )
    result = await lsp_client.initialize_session(parameters)
    assert result.capabilities.inline_completion_provider
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_both_kinds_of_completion(client: LanguageClient):
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(URI, "python", 1, "def f(a):\n    b\n")
        )
    )
    document = types.TextDocumentIdentifier(URI)
    position = types.Position(1, 5)
    inline = None
    # The server answers nothing until its model is open.
    end = time.monotonic() + 60
    while inline is None and time.monotonic() < end:
        inline = await client.text_document_inline_completion_async(
            types.InlineCompletionParams(
                types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
                document,
                position,
            )
        )
    assert [item.insert_text for item in inline.items] == [" = a + 1"]
    await accept(client, inline.items[0].command)
    items = await client.text_document_completion_async(
        types.CompletionParams(document, position)
    )
    assert [item.text_edit.new_text for item in items.items] == ["b = a + 1"]
    await accept(client, items.items[0].command)


async def accept(client: LanguageClient, command: types.Command):
    """Does what a client does with an item's command once its text is inserted."""
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command.command, command.arguments)
    )
