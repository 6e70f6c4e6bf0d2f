-- Takes one completion after the other in a real Neovim, and notes each once the server has
-- acknowledged it.
--
-- Run with `nvim --headless --clean -l writing.lua FILE NOTES SERVER…`. It goes on until it is
-- ended, or until the file NOTES.stop is there.

local file, notes = arg[1], arg[2]
local server = vim.list_slice(arg, 3)
local ready = false

vim.cmd.edit(file)
vim.bo.filetype = "python"
local id = assert(vim.lsp.start({
  name = "fillrate",
  cmd = server,
  root_dir = vim.fs.dirname(file),
  handlers = {
    ["fillrate/status"] = function(_, status)
      ready = ready or status.state == "ready" or status.state == "silent"
    end,
  },
}))
assert(vim.wait(20000, function()
  return ready
end, 5))
local client = assert(vim.lsp.get_client_by_id(id))
local out = assert(io.open(notes, "a"))

local line = 0
while not vim.uv.fs_stat(notes .. ".stop") do
  line = line + 1
  local text = ("value_%d = "):format(line)
  vim.api.nvim_buf_set_lines(0, line - 1, line - 1, false, { text })
  local answer = client:request_sync("textDocument/inlineCompletion", {
    textDocument = vim.lsp.util.make_text_document_params(0),
    position = { line = line - 1, character = #text },
    context = { triggerKind = 1 },
  }, 20000)
  local item = answer and answer.result and answer.result.items and answer.result.items[1]
  if item then
    vim.api.nvim_buf_set_text(0, line - 1, #text, line - 1, #text, vim.split(item.insertText, "\n"))
    local done = client:request_sync("workspace/executeCommand", {
      command = item.command.command,
      arguments = item.command.arguments,
    }, 20000)
    if done and not done.err then
      out:write(item.command.arguments[1].completion, "\n")
      out:flush()
    end
  end
end
client:stop()
vim.wait(5000, function()
  return client:is_stopped()
end, 5)
