--- A source for nvim-cmp: `require("fillrate.cmp").register()`, then `{ name = "fillrate" }` among
--- its `sources`.

local source = require("fillrate.source")

local M = {}
M.__index = M

--- Registers the source. nvim-cmp must be there.
function M.register()
  require("cmp").register_source("fillrate", setmetatable({}, M))
end

function M.is_available()
  return source.is_available()
end

function M.get_debug_name()
  return "fillrate"
end

function M.get_position_encoding_kind()
  return "utf-8"
end

function M.get_keyword_pattern()
  return [[\k\+]]
end

--- @param callback fun(response: table)
function M.complete(_, _, callback)
  source.complete(function(items)
    callback({ items = items, isIncomplete = true })
  end)
end

--- @param item table
--- @param callback fun(item: table)
function M.execute(_, item, callback)
  source.accepted(item)
  callback(item)
end

return M
