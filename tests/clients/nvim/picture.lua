-- Draws what a person sees, as SVG: the screen that Neovim sends to whoever is attached.
--
-- Run with `nvim -l picture.lua SERVER SETTINGS FILE`.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local Screen = require("screen")

local server, settings, file = unpack(arg)
local WIDTH, HEIGHT = 72, 17
local person = Person.start({ screen = false })
local screen = Screen.attach(person:lua("return vim.fn.serverstart()"), WIDTH, HEIGHT)
person:lua([[
  vim.o.background = "dark"
  vim.o.laststatus = 2
  vim.o.number = true
  vim.o.ruler = false
  vim.o.statusline = " %f%m%=%{v:lua.require'fillrate'.statusline()} "
]])
person:lua("vim.cmd.cd(...)", vim.fs.dirname(file))
person:set_up(server, settings)
person:open(vim.fs.basename(file))
person:keys("Go<CR>def total(basket, rates):<CR>")
local ghost = vim.split(person:wait_for_ghost(), "\n")
person:wait(
  "the server's rest",
  "return require('fillrate').statusline() == 'fillrate: qwen2.5-coder'"
)
-- The screen hears of it a little later.
local function is_drawn()
  local all = ""
  for row = 1, screen.height do
    all = all .. screen:text(row) .. "\n"
  end
  local has_ghost = vim.iter(ghost):all(function(line)
    return all:find(line, 1, true) ~= nil
  end)
  return has_ghost and all:find("fillrate: qwen2.5-coder", 1, true) and all:find("INSERT", 1, true)
end
assert(vim.wait(10000, is_drawn, 5), "the screen shows no ghost text")

local function colour(number)
  return ("#%06x"):format(number)
end

--- Each cell: its text, and how it looks.
local rows = vim.tbl_map(function(row)
  return vim.tbl_map(function(cell)
    local look = screen.looks[cell.look]
    local fore, back = look.foreground or screen.fore, look.background or screen.back
    if look.reverse then
      fore, back = back, fore
    end
    return {
      text = cell.text,
      fore = colour(fore),
      back = colour(back),
      bold = look.bold or false,
      italic = look.italic or false,
    }
  end, row)
end, screen.rows)
local cells = {
  rows = rows,
  cursor = { screen.cursor.row + 1, screen.cursor.column + 1 },
  fore = colour(screen.fore),
  back = colour(screen.back),
}
screen:detach()
person:keys("<Esc>")
person:leave()

local CELL, LINE, MARGIN = 8.4, 18, 8
local svg = {}
local function draw(text, ...)
  table.insert(svg, text:format(...))
end

--- Cells side by side that look alike.
local function runs(row, alike)
  local found = {}
  for column, cell in ipairs(row) do
    local run = found[#found]
    if run and alike(run.cell, cell) then
      run.text = run.text .. cell.text
      run.length = run.length + 1
    else
      table.insert(found, { cell = cell, column = column - 1, length = 1, text = cell.text })
    end
  end
  return found
end

local width, height = WIDTH * CELL + 2 * MARGIN, HEIGHT * LINE + 2 * MARGIN
draw(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">',
  width,
  height,
  width,
  height
)
draw("<title>Neovim with ghost text of several lines after a function's head</title>")
draw('<rect width="100%%" height="100%%" rx="6" fill="%s"/>', cells.back)
draw('<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">')
for number, row in ipairs(cells.rows) do
  local y = MARGIN + (number - 1) * LINE
  local function same_back(one, other)
    return one.back == other.back
  end
  for _, run in ipairs(runs(row, same_back)) do
    if run.cell.back ~= cells.back then
      draw(
        '<rect x="%g" y="%g" width="%g" height="%g" fill="%s"/>',
        MARGIN + run.column * CELL,
        y,
        run.length * CELL,
        LINE,
        run.cell.back
      )
    end
  end
  local function same_look(one, other)
    return one.fore == other.fore and one.bold == other.bold and one.italic == other.italic
  end
  for _, run in ipairs(runs(row, same_look)) do
    local blank, text = run.text:match("^( *)(.-) *$")
    if text ~= "" then
      draw(
        '<text x="%g" y="%g" textLength="%g" xml:space="preserve" fill="%s"%s%s>%s</text>',
        MARGIN + (run.column + #blank) * CELL,
        y + 13,
        vim.fn.strchars(text) * CELL,
        run.cell.fore,
        run.cell.bold and ' font-weight="bold"' or "",
        run.cell.italic and ' font-style="italic"' or "",
        (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
      )
    end
  end
end
draw(
  '<rect x="%g" y="%g" width="2" height="%g" fill="%s"/>',
  MARGIN + (cells.cursor[2] - 1) * CELL,
  MARGIN + (cells.cursor[1] - 1) * LINE,
  LINE,
  cells.fore
)
draw("</g>")
draw("</svg>")
io.stdout:write(table.concat(svg, "\n"), "\n")
