-- Brackets and quotes that the editor closes, in every language: the model closes them, too.
--
-- Run with `nvim -l pairs.lua SERVER SETTINGS FOLDER PAIRS`: PAIRS is `tests/clients/pairs.json`.
-- Each line is written twice. At first its opening bracket or quote is typed, and then what follows
-- is taken; the second time ghost text has that bracket or quote, which is typed over it.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")

local server, settings, folder, pairs_file = unpack(arg)
local languages = vim.json.decode(table.concat(vim.fn.readfile(pairs_file), "\n"))
local person = Person.start()
person:set_up(server, settings)

--- Types text as it is.
local function type_text(text)
  person:keys((text:gsub("<", "<lt>")))
end

--- Writes one line in the buffer, with its indentation in place.
local function write(line, over)
  local beginning, _, written, rest = unpack(line)
  local opening = beginning:sub(-1)
  type_text(beginning:sub(1, -2))
  if over then
    person:wait_for_ghost_of(opening)
  end
  type_text(opening)
  person:wait_for_ghost(written:sub(#beginning + 1, -2))
  person:keys("<Tab>")
  person:wait_for_no_ghost()
  person:keys("<End>")
  type_text(rest)
  person:keys("<Esc>")
end

for _, language in ipairs(languages) do
  for _, over in ipairs({ false, true }) do
    local file = vim.fs.joinpath(folder, (over and "over-" or "after-") .. language.file)
    vim.fn.writefile(vim.split(language.head .. language.tail, "\n"), file, "b")
    person:open(file)
    person:lua([[
      for open, close in pairs({
        ["("] = ")", ["["] = "]", ["{"] = "}", ['"'] = '"', ["'"] = "'", ["`"] = "`",
      }) do
        vim.keymap.set("i", open, open .. close .. "<Left>", { buffer = 0 })
        if close ~= open then
          vim.keymap.set("i", close, function()
            local line, column = vim.api.nvim_get_current_line(), vim.fn.col(".")
            return line:sub(column, column) == close and "<Right>" or close
          end, { buffer = 0, expr = true })
        end
      end
    ]])
    local above = select(2, language.head:gsub("\n", ""))
    for number, line in ipairs(language.lines) do
      person:lua(
        [[
          local above, indent = ...
          vim.api.nvim_buf_set_lines(0, above, above, true, { indent })
          vim.api.nvim_win_set_cursor(0, { above + 1, 0 })
        ]],
        above + number - 1,
        language.indent
      )
      person:keys("A")
      write(line, over)
    end
    person:lua("vim.cmd.write()")
  end
end
Person.equal(person:said().errmsg, "")
person:leave()
