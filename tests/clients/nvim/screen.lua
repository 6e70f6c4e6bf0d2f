-- A screen: what Neovim sends to whoever draws it, kept cell by cell.
--
-- Neovim's own client passes no `redraw` on to Lua, so this is a connection of its own.
-- <https://neovim.io/doc/user/ui.html#ui-linegrid>

local M = {}
M.__index = M

--- Handlers that apply events to the grid, by event.
local events = {}

function events.default_colors_set(self, fore, back)
  self.fore, self.back = fore, back
end

function events.hl_attr_define(self, id, look)
  self.looks[id] = look
end

function events.grid_resize(self, _, width, height)
  self.width, self.height = width, height
  events.grid_clear(self)
end

function events.grid_clear(self)
  self.rows = {}
  for row = 1, self.height do
    self.rows[row] = {}
    for column = 1, self.width do
      self.rows[row][column] = { text = " ", look = 0 }
    end
  end
end

function events.grid_cursor_goto(self, _, row, column)
  self.cursor = { row = row, column = column }
end

function events.grid_line(self, _, row, column, cells)
  local look = 0
  for _, cell in ipairs(cells) do
    look = cell[2] or look
    for _ = 1, cell[3] or 1 do
      column = column + 1
      self.rows[row + 1][column] = { text = cell[1], look = look }
    end
  end
end

function events.grid_scroll(self, _, top, bottom, left, right, rows)
  local before = vim.deepcopy(self.rows)
  for row = top + 1, bottom do
    local from = row + rows
    if from > top and from <= bottom then
      for column = left + 1, right do
        self.rows[row][column] = before[from][column]
      end
    end
  end
end

function events.flush(self)
  self.flushes = self.flushes + 1
end

--- Attaches a screen to the Neovim that listens at an address.
---
--- @param address string
--- @param width integer
--- @param height integer
function M.attach(address, width, height)
  local self = setmetatable({ looks = { [0] = {} }, rows = {}, flushes = 0 }, M)
  local unpacker = vim.mpack.Unpacker()
  local pipe = assert(vim.uv.new_pipe())
  self.pipe = pipe
  pipe:connect(address, function(fault)
    assert(not fault, fault)
    pipe:write(vim.mpack.encode({
      0,
      1,
      "nvim_ui_attach",
      { width, height, { rgb = true, ext_linegrid = true } },
    }))
    local rest = ""
    pipe:read_start(function(broken, data)
      assert(not broken, broken)
      rest = rest .. (data or "")
      while #rest > 0 do
        local message, next = unpacker(rest)
        if message == nil then
          -- The unpacker keeps what it has of an unfinished message.
          rest = ""
          break
        end
        rest = rest:sub(next)
        if message[2] == "redraw" then
          self:draw(message[3])
        end
      end
    end)
  end)
  assert(vim.wait(10000, function()
    return self.flushes > 0
  end, 5))
  return self
end

--- Takes in a batch of events.
function M:draw(batch)
  for _, event in ipairs(batch) do
    local draw = events[event[1]]
    for index = 2, draw and #event or 0 do
      draw(self, unpack(event[index]))
    end
  end
end

--- The text of a row, from 1.
function M:text(row)
  return table.concat(vim.tbl_map(function(cell)
    return cell.text
  end, self.rows[row]))
end

function M:detach()
  self.pipe:close()
end

return M
