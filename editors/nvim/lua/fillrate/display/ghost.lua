--- The plugin's own ghost text, by extmarks over `textDocument/inlineCompletion`: for Neovim 0.11, and
--- for `core = false`.

local place = require("fillrate.display.position")

--- @class fillrate.Display
local M = {}

local namespace = vim.api.nvim_create_namespace("fillrate.ghost")
local METHOD = "textDocument/inlineCompletion"
-- <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.18/specification/#inlineCompletionTriggerKind>
local INVOKED, AUTOMATIC = 1, 2

--- State of ghost text in one buffer.
--- @class fillrate.Ghost
--- @field client_id integer
--- @field items table[] the last answer
--- @field before? string the text before the cursor on its line that the answer is for
--- @field index integer the candidate that is shown, from 1
--- @field numbered boolean whether its number is shown, too
--- @field timer uv.uv_timer_t
--- @field pending? integer the request under way
--- @field asked? string the text and place that the last request was for

--- @type table<integer, fillrate.Ghost>
local ghosts = {}

--- @return boolean
function M.exists()
  return true
end

--- @param buf integer
--- @param client_id integer
function M.start(buf, client_id)
  if ghosts[buf] then
    ghosts[buf].client_id = client_id
    return
  end
  vim.api.nvim_set_hl(0, "FillrateGhost", { default = true, link = "Comment" })
  vim.api.nvim_set_hl(0, "FillrateGhostNumber", { default = true, link = "NonText" })
  ghosts[buf] = {
    client_id = client_id,
    items = {},
    index = 1,
    numbered = false,
    timer = assert(vim.uv.new_timer()),
  }
  local group = vim.api.nvim_create_augroup("fillrate.ghost:" .. buf, { clear = true })
  vim.api.nvim_create_autocmd({ "InsertEnter", "CursorMovedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    callback = function()
      M.refresh(buf)
    end,
  })
end

--- @param ghost fillrate.Ghost
local function forget(ghost)
  ghost.timer:stop()
  local client = vim.lsp.get_client_by_id(ghost.client_id)
  if ghost.pending and client then
    client:cancel_request(ghost.pending)
  end
  ghost.pending, ghost.asked, ghost.items = nil, nil, {}
end

--- @param buf integer
function M.stop(buf)
  local ghost = ghosts[buf]
  ghosts[buf] = nil
  if ghost then
    forget(ghost)
    ghost.timer:close()
    vim.api.nvim_del_augroup_by_name("fillrate.ghost:" .. buf)
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
end

--- @param buf integer
--- @return fillrate.Offer? the offer at the cursor; nothing if nothing is shown
--- @return integer row line of the ghost text, from 0
function M.offer(buf)
  local ghost = ghosts[buf]
  local item = ghost and ghost.items[ghost.index]
  local row = place.cursor(buf)
  local hidden = item and require("fillrate.menu").hides()
  local offer = item
    and row
    and not hidden
    and place.offer(buf, ghost.client_id, item, ghost.before)
  if not offer or not row then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    return nil, 0
  end
  return offer, row
end

--- Replaces tabs by spaces, because Neovim expands none in virtual text within a line.
---
--- @param text string
--- @param column integer where it is displayed, from 0
--- @return string
local function expand_tabs(text, column)
  local pieces = vim.split(text, "\t", { plain = true })
  local expanded = table.remove(pieces, 1)
  for _, piece in ipairs(pieces) do
    local at = column + vim.fn.strdisplaywidth(expanded, column)
    expanded = expanded .. (" "):rep(vim.fn.strdisplaywidth("\t", at)) .. piece
  end
  return expanded
end

--- Updates what is displayed to the text.
---
--- @param buf integer
local function show(buf)
  local offer = M.offer(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local row, col = place.cursor(buf)
  if not offer or not row then
    return
  end
  local texts = vim.split(offer.rest, "\n", { plain = true })
  texts[1] = expand_tabs(texts[1], vim.fn.virtcol(".", 1)[1] - 1)
  local lines = vim.tbl_map(function(text)
    return { { text, "FillrateGhost" } }
  end, texts)
  local ghost = ghosts[buf]
  if ghost.numbered then
    local number = (" (%d/%d)"):format(ghost.index, #ghost.items)
    table.insert(lines[#lines], { number, "FillrateGhostNumber" })
  end
  vim.api.nvim_buf_set_extmark(buf, namespace, row, col, {
    virt_text = lines[1],
    virt_text_pos = "inline",
    virt_lines = vim.list_slice(lines, 2),
    hl_mode = "combine",
  })
end

--- Sends a request, unless the person left insert mode or the buffer meanwhile, completions are off
--- here, or a menu is open.
---
--- @param buf integer
--- @param trigger 1|2
local function ask(buf, trigger)
  local ghost = ghosts[buf]
  local client = ghost and vim.lsp.get_client_by_id(ghost.client_id)
  local window = place.window(buf)
  if not client or not window or not vim.startswith(vim.api.nvim_get_mode().mode, "i") then
    return
  end
  if not require("fillrate.buffers").is_on(buf) or require("fillrate.menu").hides() then
    return
  end
  local row, col = place.cursor(buf)
  local asked = ("%d:%d:%d"):format(vim.api.nvim_buf_get_changedtick(buf), row, col)
  -- The same answer again would undo the person's choice among its candidates.
  if ghost.asked == asked and trigger == AUTOMATIC then
    return
  end
  ghost.asked = asked
  if ghost.pending then
    client:cancel_request(ghost.pending)
    ghost.pending = nil
  end
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  local before = line:sub(1, col)
  --- @type table
  local params = vim.lsp.util.make_position_params(window, client.offset_encoding)
  params.context = { triggerKind = trigger }
  local id
  --- @diagnostic disable-next-line: param-type-mismatch 0.11 does not know the method
  local _, sent = client:request(METHOD, params, function(_, result)
    if ghosts[buf] ~= ghost or ghost.pending ~= id then
      return
    end
    ghost.pending = nil
    -- Nothing means that it is not known, and the offer may still be right.
    if result then
      -- What the person chose stays, if the answer has it too.
      local chosen = M.offer(buf)
      local index = 1
      for at, item in ipairs(result.items) do
        if chosen and item.insertText == chosen.rest then
          index = at
          break
        end
      end
      ghost.items, ghost.before, ghost.index = result.items, before, index
      ghost.numbered = ghost.numbered and index > 1
      show(buf)
    else
      ghost.asked = nil
    end
  end, buf)
  id = sent
  ghost.pending = sent
end

--- Shows what is left after an edit, and requests more.
---
--- @param buf integer
function M.refresh(buf)
  local ghost = ghosts[buf]
  if not ghost then
    return
  end
  show(buf)
  local options = assert(require("fillrate.options").current)
  if not options.auto_trigger then
    return
  end
  ghost.timer:start(
    options.debounce_ms,
    0,
    vim.schedule_wrap(function()
      ask(buf, AUTOMATIC)
    end)
  )
end

--- Requests ghost text at once.
---
--- @param buf integer
function M.trigger(buf)
  local ghost = ghosts[buf]
  if ghost then
    ghost.timer:stop()
    ask(buf, INVOKED)
  end
end

--- @param buf integer
--- @param step integer
function M.select(buf, step)
  local ghost = ghosts[buf]
  if ghost and #ghost.items > 0 then
    local index = ghost.index
    -- A candidate that disagrees with what was typed since is no choice.
    for _ = 1, #ghost.items do
      ghost.index = (ghost.index - 1 + step) % #ghost.items + 1
      if M.offer(buf) then
        break
      end
    end
    if not M.offer(buf) then
      ghost.index = index
    end
    ghost.numbered = true
    show(buf)
  end
end

--- Hides the ghost text and discards it and its request.
---
--- @param buf integer
--- @param done? fun() called then
function M.clear(buf, done)
  local ghost = ghosts[buf]
  if ghost then
    forget(ghost)
    show(buf)
  end
  if done then
    done()
  end
end

return M
