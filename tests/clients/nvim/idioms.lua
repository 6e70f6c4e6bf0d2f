-- Everyday idioms: the last character before the cursor is typed, and what is offered is accepted.
--
-- Run with `nvim -l idioms.lua SERVER SETTINGS FOLDER IDIOMS`: IDIOMS is
-- `tests/clients/idioms.json`, whose files are in FOLDER.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")

local server, settings, folder, idioms_file = unpack(arg)
local idioms = vim.json.decode(table.concat(vim.fn.readfile(idioms_file), "\n"))
local person = Person.start({ width = 100, height = 40 })
person:set_up(server, settings)

for _, idiom in ipairs(idioms) do
  person:open(vim.fs.joinpath(folder, idiom.file))
  local last = idiom.before:sub(-1)
  local lines = vim.split(idiom.before:sub(1, -2), "\n")
  local row, column = #lines, #lines[#lines]
  local at_end = vim.startswith(idiom.after, "\n")
  -- Nothing but the keys writes here.
  person:lua(
    [[
      local row, column = ...
      vim.bo.indentexpr, vim.bo.indentkeys, vim.bo.cindent = "", "", false
      vim.api.nvim_buf_set_text(0, row - 1, column, row - 1, column + 1, {})
      vim.api.nvim_win_set_cursor(0, { row, column })
    ]],
    row,
    column
  )
  person:keys((at_end and "A" or "i") .. (last == "<" and "<lt>" or last))
  person:wait_for_ghost()
  person:keys("<Tab>")
  person:wait_for_no_ghost()
  person:keys("<Esc>")
  person:lua("vim.cmd.write()")
end
Person.equal(person:said().errmsg, "")
person:leave()
