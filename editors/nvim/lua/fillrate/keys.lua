--- The keys, each mapped only while there is ghost text: at all other times it is whatever it
--- was, in every respect, save that keys with Alt that were nothing stay nothing.

local M = {}

--- By buffer: what was mapped, and what was there before.
--- @type table<integer, { lhs: string, callback: fun(), before?: table }[]>
local mapped = {}

--- @type table<string, [fun(buf: integer): boolean, string]>
local actions = {
  accept = {
    function(buf)
      return require("fillrate.buffers").accept(buf)
    end,
    "Take the ghost text",
  },
  accept_word = {
    function(buf)
      return require("fillrate.buffers").accept(buf, "word")
    end,
    "Take the ghost text's next word",
  },
  accept_line = {
    function(buf)
      return require("fillrate.buffers").accept(buf, "line")
    end,
    "Take the ghost text's next line",
  },
  next = {
    function(buf)
      return require("fillrate.buffers").select(buf, vim.v.count1)
    end,
    "Show the next candidate",
  },
  previous = {
    function(buf)
      return require("fillrate.buffers").select(buf, -vim.v.count1)
    end,
    "Show the candidate before",
  },
  dismiss = {
    function(buf)
      return require("fillrate.buffers").dismiss(buf)
    end,
    "Hide the ghost text",
  },
}

--- The buffer's own mapping of a key in insert mode.
---
--- @param buf integer
--- @param lhs string
--- @return table? # as `maparg()` gives it
local function own_mapping(buf, lhs)
  local mapping = vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg(lhs, "i", false, true)
  end)
  return mapping.buffer == 1 and mapping or nil
end

--- Description of the mapping that requests ghost text.
local TRIGGER = "Request ghost text"

--- Description of a mapping that does nothing.
local GUARD = "Nothing without ghost text"

--- Keeps a key with Alt from being Escape and the other key, which it is in insert mode where nothing
--- is mapped: <M-p> would put. A mapping for all buffers, made before or afterwards, goes before.
---
--- @param buf integer
--- @param lhs string
local function guard(buf, lhs)
  if own_mapping(buf, lhs) then
    return
  end
  vim.keymap.set("i", lhs, function()
    vim.keymap.del("i", lhs, { buffer = buf })
    if vim.fn.maparg(lhs, "i") ~= "" then
      -- Ahead of what was typed since.
      vim.api.nvim_feedkeys(vim.keycode(lhs), "im", false)
    else
      guard(buf, lhs)
    end
  end, { buffer = buf, desc = GUARD })
end

--- The keys with Alt.
---
--- @return string[]
local function with_alt()
  local keys = assert(require("fillrate.options").current).keys
  return vim.tbl_filter(function(lhs)
    return lhs and lhs ~= keys.trigger and lhs:match("^<[MmAa]%-[^-]+>$") ~= nil
  end, vim.tbl_values(keys))
end

--- Makes the keys harmless while there is no ghost text, in a buffer that may have some.
---
--- @param buf integer
function M.attach(buf)
  vim.iter(with_alt()):each(function(lhs)
    guard(buf, lhs)
  end)
  local trigger = assert(require("fillrate.options").current).keys.trigger
  if trigger and not own_mapping(buf, trigger) then
    vim.keymap.set("i", trigger, function()
      require("fillrate.buffers").trigger(buf)
    end, { buffer = buf, desc = TRIGGER })
  end
end

--- Maps the keys in a buffer. Idempotent.
---
--- @param buf integer
function M.map(buf)
  if mapped[buf] then
    return
  end
  mapped[buf] = {}
  for name, lhs in pairs(assert(require("fillrate.options").current).keys) do
    -- The trigger is mapped all the time.
    if lhs and actions[name] then
      local act, description = unpack(actions[name])
      local function callback()
        if not act(buf) then
          -- Keys came faster than Neovim reported them, and the ghost text is typed over.
          M.unmap(buf)
          vim.api.nvim_feedkeys(vim.keycode(lhs), "im", false)
        end
      end
      table.insert(mapped[buf], {
        lhs = lhs,
        callback = callback,
        before = own_mapping(buf, lhs),
      })
      vim.keymap.set("i", lhs, callback, { buffer = buf, nowait = true, desc = description })
    end
  end
end

--- Restores the keys of a buffer.
---
--- @param buf integer
function M.unmap(buf)
  local mappings = mapped[buf] or {}
  mapped[buf] = nil
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  for _, mapping in ipairs(mappings) do
    local now = own_mapping(buf, mapping.lhs)
    -- A mapping made meanwhile stays.
    if now and now.callback == mapping.callback then
      vim.keymap.del("i", mapping.lhs, { buffer = buf })
      if mapping.before then
        vim.api.nvim_buf_call(buf, function()
          vim.fn.mapset(mapping.before)
        end)
      end
    end
  end
end

--- Restores all keys of a buffer that will have no ghost text.
---
--- @param buf integer
function M.detach(buf)
  M.unmap(buf)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  for _, lhs in ipairs(with_alt()) do
    if vim.tbl_get(own_mapping(buf, lhs) or {}, "desc") == GUARD then
      vim.keymap.del("i", lhs, { buffer = buf })
    end
  end
  local trigger = assert(require("fillrate.options").current).keys.trigger
  if trigger and vim.tbl_get(own_mapping(buf, trigger) or {}, "desc") == TRIGGER then
    vim.keymap.del("i", trigger, { buffer = buf })
  end
end

return M
