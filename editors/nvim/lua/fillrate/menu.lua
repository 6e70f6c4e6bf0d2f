--- Completion menus that may be open at the cursor: Neovim's own, nvim-cmp's and blink.cmp's.

local M = {}

--- True if one of them is open. Only menus of plugins that are loaded already are asked.
---
--- @return boolean
function M.is_open()
  if vim.fn.pumvisible() == 1 then
    return true
  end
  local cmp, blink = package.loaded["cmp"], package.loaded["blink.cmp"]
  local function shows(plugin, name)
    local visible = type(plugin) == "table" and plugin[name]
    local fine, open = pcall(visible or function() end)
    return fine and open == true
  end
  -- blink.cmp's `is_visible` counts its own ghost text.
  return shows(cmp, "visible") or shows(blink, "is_menu_visible")
end

--- True if ghost text is hidden because of a menu.
---
--- @return boolean
function M.hides()
  return assert(require("fillrate.options").current).hide_with_menu and M.is_open()
end

--- True once nvim-cmp reports its menu.
local watches_cmp = false

--- Reports menus that open and close to `buffers`. Idempotent.
function M.watch()
  -- The menu is open, or closed, only after these events' callbacks.
  local changed = vim.schedule_wrap(function()
    require("fillrate.buffers").menu_changed()
  end)
  local group = vim.api.nvim_create_augroup("fillrate.menu", { clear = true })
  vim.api.nvim_create_autocmd({ "CompleteChanged", "CompleteDone" }, {
    group = group,
    callback = changed,
  })
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = { "BlinkCmpMenuOpen", "BlinkCmpMenuClose" },
    callback = changed,
  })
  local function watch_cmp()
    local events = vim.tbl_get(package.loaded, "cmp", "event")
    if events and not watches_cmp then
      watches_cmp = true
      events:on("menu_opened", changed)
      events:on("menu_closed", changed)
    end
  end
  watch_cmp()
  -- nvim-cmp is often loaded at this event, by a plugin manager's own callback.
  vim.api.nvim_create_autocmd("InsertEnter", {
    group = group,
    callback = vim.schedule_wrap(watch_cmp),
  })
end

return M
