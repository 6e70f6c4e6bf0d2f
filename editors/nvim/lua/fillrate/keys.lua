--- The keys, each mapped only while there is ghost text: at all other times it is whatever it
--- was, in every respect.

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

--- Maps the keys in a buffer. Idempotent.
---
--- @param buf integer
function M.map(buf)
  if mapped[buf] then
    return
  end
  mapped[buf] = {}
  for name, lhs in pairs(assert(require("fillrate.options").current).keys) do
    if lhs then
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

return M
