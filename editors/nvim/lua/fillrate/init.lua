--- Code completion as ghost text from `fillrate serve`, measured where it is used.
---
--- `require("fillrate").setup()` is all that is needed. See |fillrate|.

local M = {}

--- Indexes the help, so that `:help fillrate` finds it: not everything that installs a plugin does.
local function index_help()
  local help = vim.api.nvim_get_runtime_file("doc/fillrate.txt", false)[1]
  local written = help and vim.uv.fs_stat(help)
  if not written then
    return
  end
  local folder = vim.fs.dirname(help)
  local indexed = vim.uv.fs_stat(folder .. "/tags")
  if not indexed or indexed.mtime.sec < written.mtime.sec then
    -- A folder that can't be written to is its packager's to index.
    pcall(vim.cmd.helptags, folder)
  end
end

--- Checks the options, and gives completions in every buffer of the file types among them.
---
--- @param given? fillrate.GivenOptions
function M.setup(given)
  require("fillrate.options").set(given)
  -- A plugin manager that adds the folder late does not source what is in it.
  vim.cmd.runtime("plugin/fillrate.lua")
  require("fillrate.buffers").start()
  vim.schedule(index_help)
end

--- The server's status, for a statusline: `fillrate: default`, say, or `fillrate: off`. Empty
--- in a buffer without a server.
---
--- @param buf? integer the buffer; the current one if left out
--- @return string
function M.statusline(buf)
  return require("fillrate.status").text(buf or vim.api.nvim_get_current_buf())
end

--- Switches completions on or off, everywhere.
---
--- @param on? boolean the other way round from now if left out
--- @return boolean on whether they are on now
function M.toggle(on)
  return require("fillrate.buffers").toggle(on)
end

--- Switches completions off everywhere for some minutes.
---
--- @param minutes number
--- @return string clock when they are on again
function M.snooze(minutes)
  return require("fillrate.buffers").snooze(minutes)
end

--- Accepts the ghost text. For own mappings; those of |fillrate-keys| do the same.
---
--- @param part? "word"|"line" how much of it; all of it by default
--- @return boolean taken whether there was ghost text to take
function M.accept(part)
  return require("fillrate.buffers").accept(vim.api.nvim_get_current_buf(), part)
end

--- Requests ghost text at the cursor, also without `auto_trigger`.
---
--- @return boolean requested false where completions are off or there is no server
function M.trigger()
  return require("fillrate.buffers").trigger(vim.api.nvim_get_current_buf())
end

--- Dismisses the ghost text.
---
--- @return boolean dismissed whether there was any
function M.dismiss()
  return require("fillrate.buffers").dismiss(vim.api.nvim_get_current_buf())
end

--- Shows another candidate.
---
--- @param step? integer how many further on; backwards if negative; 1 if left out
--- @return boolean moved whether there is ghost text
function M.select(step)
  return require("fillrate.buffers").select(vim.api.nvim_get_current_buf(), step or 1)
end

return M
