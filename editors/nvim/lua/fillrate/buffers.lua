--- Buffers with completions: the offer in each, and what the person does with it.

local server = require("fillrate.server")
local seen = require("fillrate.seen")

local M = {}

--- Who shows ghost text: Neovim's own feature, or we.
--- @class fillrate.Display
--- @field exists fun(): boolean
--- @field start fun(buf: integer, client_id: integer)
--- @field stop fun(buf: integer)
--- @field answered? fun(buf: integer, client_id: integer, items: table[])
--- @field offer fun(buf: integer): fillrate.Offer?, integer
--- @field select fun(buf: integer, step: integer)
--- @field clear fun(buf: integer, done?: fun())
--- @field refresh fun(buf: integer)
--- @field trigger? fun(buf: integer) without it, `refresh` requests

--- By buffer with a server: who shows its ghost text.
--- @type table<integer, fillrate.Display>
local displays = {}

--- True if completions are on in all buffers that no other switch excludes.
local on = true

--- When a snooze ends, in milliseconds since 1970; in the past if there is none.
local snoozed_until = 0

--- File types in which the person switched completions off.
--- @type table<string, true>
local off_types = {}

--- True if the option `enabled` raised an error, which is reported once.
local enabled_failed = false

--- The display in force.
---
--- @return fillrate.Display display
--- @return boolean core whether it is Neovim's own
function M.display()
  local core = require("fillrate.display.core")
  if assert(require("fillrate.options").current).core and core.exists() then
    return core, true
  end
  return require("fillrate.display.ghost"), false
end

--- @param buf integer
--- @return boolean # what the function in the option `enabled` says; true if there is none
local function is_enabled(buf)
  local enabled = assert(require("fillrate.options").current).enabled
  if type(enabled) == "boolean" then
    return true
  end
  local fine, result = pcall(enabled, buf)
  if not fine and not enabled_failed then
    enabled_failed = true
    server.say("The option `enabled` fails, so completions are off: " .. tostring(result))
  end
  return fine and result ~= false and result ~= nil
end

--- @return number # milliseconds since 1970
local function now_ms()
  local seconds, microseconds = vim.uv.gettimeofday()
  return seconds * 1000 + microseconds / 1000
end

--- @return string # when the snooze ends, as a clock shows it
local function snooze_end()
  return tostring(os.date("%H:%M:%S", math.floor(snoozed_until / 1000)))
end

--- Reason why completions are off in a buffer, in a few words.
---
--- @param buf integer
--- @return string? # nil if they are on
function M.why_off(buf)
  if not on then
    return "off"
  elseif now_ms() < snoozed_until then
    return "snoozed until " .. snooze_end()
  end
  local filetype = vim.bo[buf].filetype
  if vim.b[buf].fillrate == false then
    return "off in this buffer"
  elseif off_types[filetype] then
    return "off for " .. filetype
  elseif not is_enabled(buf) then
    return "off by `enabled`"
  end
  return nil
end

--- @param buf integer
--- @return boolean
function M.is_on(buf)
  return displays[buf] ~= nil and M.why_off(buf) == nil
end

--- Passes on an answer, before it is shown.
---
--- @param buf integer
--- @param client_id integer
--- @param items table[]
function M.answered(buf, client_id, items)
  local display = displays[buf]
  if display and display.answered then
    display.answered(buf, client_id, items)
  end
end

--- Returns a buffer's offer at the cursor, after updating the keys and reports that depend on it.
---
--- @param buf integer
--- @return fillrate.Offer?
function M.changed(buf)
  local display = displays[buf]
  local offer, row = nil, 0
  if display then
    offer, row = display.offer(buf)
  end
  if offer then
    seen.begin(buf, offer, row)
    require("fillrate.keys").map(buf)
  else
    seen.finish(buf)
    require("fillrate.keys").unmap(buf)
  end
  return offer
end

--- Puts text at the cursor, as a step of its own for undo.
---
--- @param buf integer
--- @param text string
local function insert(buf, text)
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  -- Setting this option ends the step before: |undo-break|.
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  local lines = vim.split(text, "\n", { plain = true })
  vim.api.nvim_buf_set_text(buf, row - 1, col, row - 1, col, lines)
  vim.api.nvim_win_set_cursor(0, {
    row + #lines - 1,
    (#lines == 1 and col or 0) + #lines[#lines],
  })
end

--- The next word: white space before it, and then letters or other signs. The next line: what is
--- left of this one, or else the line break and the line after it, with blank lines before that.
local parts = {
  word = [=[^\_s*\%(\k\+\|[^[:keyword:][:space:]]\+\)]=],
  line = [=[^\n\+[^\n]*\|^[^\n]\+]=],
}

--- The first part of a text.
---
--- @param text string
--- @param part? "word"|"line" all of it by default
--- @return string
function M.part(text, part)
  if not part then
    return text
  end
  local taken = vim.fn.matchstr(text, parts[part])
  return taken ~= "" and taken or text
end

--- Accepts the offer in a buffer.
---
--- @param buf integer
--- @param part? "word"|"line" how much; all of it by default
--- @return boolean taken whether there was anything
function M.accept(buf, part)
  local offer = M.changed(buf)
  local display = displays[buf]
  if not offer or not display then
    return false
  end
  local taken = M.part(offer.rest, part)
  local whole = taken == offer.rest
  insert(buf, taken)
  if whole and not seen.is_in_parts(buf) then
    -- The item's command reports to the server; see `connection` in server.lua for how long it was
    -- seen. Neovim sends the edit before it.
    local client = vim.lsp.get_client_by_id(offer.client_id)
    if client and offer.command then
      client:exec_cmd(offer.command, { bufnr = buf })
    end
  else
    -- The last part of several is one more: its characters would else be counted twice.
    seen.took_part(buf, vim.fn.strchars(taken), part or "characters")
  end
  -- Neovim's own feature can go on with the rest of a line, but not with the next one.
  local ends_line = taken:find("\n", 1, true) and display == require("fillrate.display.core")
  if whole or ends_line then
    display.clear(buf, function()
      display.refresh(buf)
    end)
  else
    display.refresh(buf)
  end
  M.changed(buf)
  return true
end

--- Hides the offer in a buffer: a refusal.
---
--- @param buf integer
--- @return boolean dismissed whether there was anything
function M.dismiss(buf)
  local offer = M.changed(buf)
  local display = displays[buf]
  if not offer or not display then
    return false
  end
  seen.finish(buf, "dismissed")
  display.clear(buf)
  M.changed(buf)
  return true
end

--- Shows another candidate.
---
--- @param buf integer
--- @param step integer how many further on; backwards if negative
--- @return boolean moved whether there was anything
function M.select(buf, step)
  local display = displays[buf]
  if not M.changed(buf) or not display then
    return false
  end
  display.select(buf, step)
  M.changed(buf)
  return true
end

--- @param buf integer
local function detach(buf)
  local display = displays[buf]
  displays[buf] = nil
  seen.finish(buf)
  require("fillrate.keys").detach(buf)
  if display then
    display.stop(buf)
    pcall(vim.api.nvim_del_augroup_by_name, "fillrate:" .. buf)
  end
end

--- @param client vim.lsp.Client
--- @param buf integer
local function attach(client, buf)
  local display = M.display()
  displays[buf] = display
  display.start(buf, client.id)
  require("fillrate.keys").attach(buf)
  require("fillrate.menu").watch()
  local group = vim.api.nvim_create_augroup("fillrate:" .. buf, { clear = true })
  local function on_event(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  -- Neovim's feature brings its ghost text in line with the cursor when that has moved. The news
  -- of a change comes after that; of a mere move, it may come to us first.
  on_event({ "TextChangedI", "TextChangedP" }, function()
    M.changed(buf)
  end)
  on_event("CursorMovedI", function()
    M.changed(buf)
    vim.schedule(function()
      M.changed(buf)
    end)
  end)
  on_event("BufLeave", function()
    seen.finish(buf)
    require("fillrate.keys").unmap(buf)
  end)
  on_event("LspDetach", function(event)
    if event.data.client_id == client.id then
      detach(buf)
    end
  end)
  -- Insert mode is left with Escape, and with keys that give no InsertLeave, such as CTRL-C.
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = group,
    pattern = "i*:*",
    callback = function(event)
      if event.buf == buf and not vim.startswith(vim.v.event.new_mode, "i") then
        seen.finish(buf, "dismissed")
        require("fillrate.keys").unmap(buf)
        display.clear(buf)
      end
    end,
  })
end

--- Returns true if a buffer holds a file: it is of no special type and has a name.
---
--- @param buf integer
--- @return boolean
local function is_file(buf)
  return vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) ~= ""
end

--- Returns true if the option `filetypes` has a buffer's file type.
---
--- @param buf integer
--- @return boolean
local function is_served(buf)
  local options = assert(require("fillrate.options").current)
  return vim.list_contains(options.filetypes, vim.bo[buf].filetype)
end

--- Reason why no switch brings completions into a buffer, as a sentence.
---
--- @param buf integer
--- @return string? # nil if its type is served
function M.unserved(buf)
  if is_served(buf) then
    return nil
  end
  local filetype = vim.bo[buf].filetype
  return filetype == "" and "There are no completions in a buffer without a file type."
    or ("There are no completions for %s: add it to the option `filetypes`."):format(filetype)
end

--- Reason why a file's buffer has no server, in the words of the server's status.
---
--- @param buf integer
--- @return string? # nil if it is no file's, or should have one
function M.problem(buf)
  if not require("fillrate.options").current or not is_file(buf) then
    return nil
  end
  if not is_served(buf) then
    local filetype = vim.bo[buf].filetype
    return ("silent (not among `filetypes`: %s)"):format(
      filetype ~= "" and filetype or "a file of no type"
    )
  end
  if server.refusal() then
    return "fault: the settings can't be used, see :Fillrate"
  end
  return server.problem() and "fault: the program can't be used, see :checkhealth fillrate" or nil
end

--- Gives a buffer a server, if it is one that should have one. Never raises an error: this runs
--- among the autocommands of others.
---
--- @param buf integer
local function consider(buf)
  if not is_file(buf) or not is_served(buf) then
    return
  end
  local done, fault = pcall(server.find, function(path)
    if vim.api.nvim_buf_is_loaded(buf) then
      server.start(buf, path, attach)
    end
  end)
  if not done then
    server.say(tostring(fault))
  end
end

--- Hides ghost text in buffers where completions are off now, and requests it where they are on.
local function reconsider()
  for buf, display in pairs(displays) do
    if M.is_on(buf) then
      display.refresh(buf)
    else
      seen.finish(buf)
      display.clear(buf)
      require("fillrate.keys").unmap(buf)
    end
  end
  vim.cmd.redrawstatus({ bang = true })
end

--- Switches completions off everywhere for some minutes.
---
--- @param minutes number
--- @return string clock when they are on again
function M.snooze(minutes)
  local mine = now_ms() + minutes * 60000
  snoozed_until = mine
  reconsider()
  vim.defer_fn(function()
    -- A later snooze has its own end.
    if snoozed_until == mine then
      snoozed_until = 0
      reconsider()
    end
  end, math.ceil(minutes * 60000))
  return snooze_end()
end

--- Switches completions on or off, everywhere. Ends a snooze.
---
--- @param wanted? boolean the other way round from now if left out
--- @return boolean on
function M.toggle(wanted)
  local is_snoozed = now_ms() < snoozed_until
  if wanted == nil then
    wanted = not on or is_snoozed
  end
  if wanted ~= on or is_snoozed then
    on, snoozed_until = wanted, 0
    reconsider()
  end
  return on
end

--- Switches completions on or off in one buffer. `vim.b.fillrate = false` does the same.
---
--- @param buf integer
--- @return boolean on
function M.toggle_buffer(buf)
  if vim.b[buf].fillrate == false then
    vim.b[buf].fillrate = nil
  else
    vim.b[buf].fillrate = false
  end
  reconsider()
  return vim.b[buf].fillrate ~= false
end

--- Switches completions on or off in files of a buffer's type, until Neovim is left.
---
--- @param buf integer
--- @return boolean on
function M.toggle_filetype(buf)
  local filetype = vim.bo[buf].filetype
  -- Where the settings have the language off, our own switch alone would change nothing.
  local off = server.language_off(buf)
  if off then
    local settings = server.chosen()
    settings.languages = vim.tbl_extend("force", settings.languages or {}, { [off] = true })
    server.choose(settings)
    off_types[filetype] = nil
  else
    off_types[filetype] = not off_types[filetype] or nil
  end
  reconsider()
  return not off_types[filetype]
end

--- Requests ghost text at the cursor, whatever `auto_trigger` says.
---
--- @param buf integer
--- @return boolean requested false where completions are off or there is no server
function M.trigger(buf)
  local display = displays[buf]
  local reason = M.why_off(buf)
  reason = M.unserved(buf)
    or reason and ("Completions are %s: see `:Fillrate toggle`."):format(reason)
  if reason then
    server.say(reason, nil, true)
    return false
  end
  if not display then
    return false
  end
  if display.trigger then
    display.trigger(buf)
  else
    display.refresh(buf)
  end
  return true
end

--- A completion menu opened or closed: ghost text makes room for it, or returns.
function M.menu_changed()
  local buf = vim.api.nvim_get_current_buf()
  local display = displays[buf]
  if display then
    M.changed(buf)
    if not require("fillrate.menu").hides() then
      display.refresh(buf)
    end
  end
end

--- Watches for buffers that should have completions, and takes those that are open already.
function M.start()
  local options = assert(require("fillrate.options").current)
  on, enabled_failed = options.enabled ~= false, false
  seen.watch()
  local group = vim.api.nvim_create_augroup("fillrate", { clear = true })
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = options.filetypes,
    callback = function(event)
      consider(event.buf)
    end,
  })
  -- A new buffer may have a type before a name, which `:file` and `:write` give it.
  vim.api.nvim_create_autocmd({ "BufFilePost", "BufNew" }, {
    group = group,
    callback = function(event)
      if #server.clients(event.buf) == 0 then
        consider(event.buf)
      end
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      consider(buf)
    end
  end
end

return M
