--- Completions as items of a completion menu, for blink.cmp and nvim-cmp.

local place = require("fillrate.display.position")

local M = {}

-- <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#inlineCompletionTriggerKind>
local AUTOMATIC = 2
-- <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#completionItemKind>
local SNIPPET, PLAIN_TEXT = 15, 1

--- An item of the protocol from ours. Its text begins with the word before the cursor, by which
--- menus filter.
---
--- @param offer fillrate.Offer
--- @param row integer
--- @param col integer
--- @param word string
--- @return table
local function menu_item(offer, row, col, word)
  local text = word .. offer.rest
  local first = vim.split(text, "\n")[1]
  return {
    label = first ~= text and first .. " …" or first,
    filterText = text,
    kind = SNIPPET,
    insertTextFormat = PLAIN_TEXT,
    documentation = {
      kind = "markdown",
      value = ("```%s\n%s\n```"):format(vim.bo.filetype, text),
    },
    textEdit = {
      newText = text,
      range = {
        -- Bytes: the menus are given UTF-8 as the encoding.
        start = { line = row, character = col - #word },
        ["end"] = { line = row, character = col },
      },
    },
    data = { client_id = offer.client_id, command = offer.command },
  }
end

--- True if the current buffer has a server and completions are on.
---
--- @return boolean
function M.is_available()
  return require("fillrate.buffers").is_on(vim.api.nvim_get_current_buf())
end

--- Requests completions at the cursor.
---
--- @param use fun(items: table[]) called once, with no items if there are none
--- @return fun() cancel
function M.complete(use)
  local buf = vim.api.nvim_get_current_buf()
  local client = M.is_available() and require("fillrate.server").clients(buf)[1]
  if not client then
    use({})
    return function() end
  end
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  --- @diagnostic disable-next-line: inject-field
  params.context = { triggerKind = AUTOMATIC }
  --- @diagnostic disable-next-line: param-type-mismatch 0.11 does not know the method
  local _, id = client:request("textDocument/inlineCompletion", params, function(_, result)
    local row, col = place.cursor(buf)
    local items = {}
    if row then
      local before = vim.api.nvim_buf_get_text(buf, row, 0, row, col, {})[1]
      local word = vim.fn.matchstr(before, [[\k*$]])
      for _, item in ipairs(result and result.items or {}) do
        local offer = place.offer(buf, client.id, item)
        if offer then
          table.insert(items, menu_item(offer, row, col, word))
        end
      end
    end
    use(items)
  end, buf)
  return function()
    if id then
      client:cancel_request(id)
    end
  end
end

--- Reports to the server that an item was accepted, after the edit.
---
--- @param item table
function M.accepted(item)
  local data = item.data or {}
  local client = data.client_id and vim.lsp.get_client_by_id(data.client_id)
  if client and data.command then
    client:exec_cmd(data.command, { bufnr = vim.api.nvim_get_current_buf() })
  end
end

return M
