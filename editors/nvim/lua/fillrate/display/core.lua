--- Ghost text by Neovim's own feature, `vim.lsp.inline_completion` (0.12).
---
--- It requests and displays. This file adds what it lacks: it inserts a whole text even if its
--- beginning was typed meanwhile, and keeps displaying text that disagrees with the keys typed
--- since. It has no public function for what it displays, so that is read from its extmarks.

local place = require("fillrate.display.position")

--- @class fillrate.Display
local M = {}

--- The namespace of Neovim's feature: the name is the same as long as the module's is.
local namespace = vim.api.nvim_create_namespace("nvim.lsp.inline_completion")

--- By buffer: the server's last response.
--- @type table<integer, { client_id: integer, items: table[] }>
local answers = {}

--- @return boolean
function M.exists()
  return vim.lsp.inline_completion ~= nil
end

--- @param buf integer
function M.start(buf)
  vim.lsp.inline_completion.enable(true, { bufnr = buf })
end

--- @param buf integer
function M.stop(buf)
  vim.lsp.inline_completion.enable(false, { bufnr = buf })
  answers[buf] = nil
end

--- Stores a response before Neovim receives it.
---
--- @param buf integer
--- @param client_id integer
--- @param items table[]
function M.answered(buf, client_id, items)
  answers[buf] = { client_id = client_id, items = items }
end

--- Returns the position and the text of the ghost text that Neovim shows.
---
--- @param buf integer
--- @return integer? row from 0; nothing if it shows nothing
--- @return integer col bytes, from 0
--- @return string text
local function shown(buf)
  local mark = vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })[1]
  if not mark then
    return nil, 0, ""
  end
  local lines = { mark[4].virt_text or {} }
  vim.list_extend(lines, mark[4].virt_lines or {})
  local texts = vim.tbl_map(function(chunks)
    local text = ""
    for _, chunk in ipairs(chunks) do
      -- The number of the candidate follows the text.
      if chunk[2] ~= "ComplHintMore" then
        text = text .. chunk[1]
      end
    end
    return text
  end, lines)
  return mark[2], mark[3], table.concat(texts, "\n")
end

--- The ghost text at the cursor. Ours is removed if it disagrees with the typed text;
--- other servers' ghost text is not touched.
---
--- @param buf integer
--- @return fillrate.Offer? offer nothing if nothing of ours is shown
--- @return integer row line of the ghost text, from 0
function M.offer(buf)
  local answer = answers[buf]
  local row, col, text = shown(buf)
  if not answer or not row then
    return nil, 0
  end
  if require("fillrate.menu").hides() then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    return nil, 0
  end
  local client = vim.lsp.get_client_by_id(answer.client_id)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  for _, item in ipairs(answer.items) do
    local start = item.range and item.range.start
    if client and start and start.line == row and type(item.insertText) == "string" then
      local from = vim.str_byteindex(line, client.offset_encoding, start.character, false)
      local skipped = col - from
      if skipped >= 0 and item.insertText:sub(skipped + 1) == text then
        local offer = place.offer(buf, answer.client_id, item)
        -- Neovim shows the text at the line it began at, and so only there rightly.
        if offer and place.cursor(buf) == row then
          return offer, row
        end
        vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
        return nil, 0
      end
    end
  end
  return nil, 0
end

--- @param buf integer
--- @param step integer
function M.select(buf, step)
  vim.lsp.inline_completion.select({ bufnr = buf, count = step })
end

--- Hides the ghost text and discards it and its request.
---
--- @param buf integer
--- @param done? fun() called when Neovim has forgotten it, too
function M.clear(buf, done)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  answers[buf] = nil
  -- Neovim forgets an item when somebody takes it; this one is then not inserted.
  local forgets = vim.lsp.inline_completion.get({
    bufnr = buf,
    on_accept = function()
      if done then
        done()
      end
    end,
  })
  if not forgets and done then
    done()
  end
end

--- Shows what is left after an edit of ours, and requests more. This is what Neovim does itself
--- when the cursor has moved, but it would learn of that only after the next key.
---
--- @param buf integer
function M.refresh(buf)
  if not place.window(buf) or not vim.startswith(vim.api.nvim_get_mode().mode, "i") then
    return
  end
  vim.api.nvim_exec_autocmds("CursorMovedI", { buffer = buf, modeline = false })
end

return M
