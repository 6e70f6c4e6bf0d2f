--- A source for blink.cmp: `providers.fillrate = { name = "Fillrate", module = "fillrate.blink" }`.

local source = require("fillrate.source")

local M = {}
M.__index = M

function M.new()
  return setmetatable({}, M)
end

function M.enabled()
  return source.is_available()
end

--- @param callback fun(response: table)
--- @return fun() cancel
function M.get_completions(_, _, callback)
  return source.complete(function(items)
    callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

--- @param item table
--- @param callback fun()
--- @param insert? fun() inserts the item
function M.execute(_, _, item, callback, insert)
  if insert then
    insert()
  end
  source.accepted(item)
  callback()
end

return M
