--- The position of a server's item in a buffer, and what is left of it after typing.

local M = {}

--- The buffer's window that has the cursor.
---
--- @param buf integer
--- @return integer? window nothing if the person is in another buffer
function M.window(buf)
  local window = vim.api.nvim_get_current_win()
  return vim.api.nvim_win_get_buf(window) == buf and window or nil
end

--- @param buf integer
--- @return integer? row from 0; nothing if the person is in another buffer
--- @return integer col bytes, from 0
function M.cursor(buf)
  local window = M.window(buf)
  if not window then
    return nil, 0
  end
  local cursor = vim.api.nvim_win_get_cursor(window)
  return cursor[1] - 1, cursor[2]
end

--- Returns the offer that an item makes at the cursor. Our server's items are inserted at the
--- cursor's position in the request, and replace nothing.
---
--- @param buf integer
--- @param client_id integer
--- @param item table an `InlineCompletionItem` of the protocol
--- @param before? string the text before the item on its line, when it was requested
--- @return fillrate.Offer? offer nil if that text has changed, or if the item does not go on from the text typed since
function M.offer(buf, client_id, item, before)
  local client = vim.lsp.get_client_by_id(client_id)
  local row, col = M.cursor(buf)
  local start = item.range and item.range.start
  local text = item.insertText
  if not client or not row or not start or type(text) ~= "string" then
    return nil
  end
  local line = vim.api.nvim_buf_get_lines(buf, start.line, start.line + 1, false)[1]
  if not line or row < start.line then
    return nil
  end
  local from = vim.str_byteindex(line, client.offset_encoding, start.character, false)
  if row == start.line and col < from then
    return nil
  end
  -- A byte index that is beyond the line is its end.
  if before and line:sub(1, from) ~= before then
    return nil
  end
  local typed = vim.api.nvim_buf_get_text(buf, start.line, from, row, col, {})
  local own = table.concat(typed, "\n")
  if not vim.startswith(text, own) or #own == #text then
    return nil
  end
  local command = item.command
  local argument = command and command.arguments and command.arguments[1] or {}
  return {
    client_id = client_id,
    completion = argument.completion,
    candidate = argument.candidate,
    command = command,
    row = start.line,
    col = from,
    text = text,
    rest = text:sub(#own + 1),
  }
end

return M
