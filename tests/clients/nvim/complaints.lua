-- What other tools are blamed for: brackets and quotes that are there twice, no ghost text after a
-- file's name has changed or is given late, ghost text and a completion menu in one another's way,
-- requests for text that is deleted, and text that comes into the lines of a block.
--
-- Run with `nvim -l complaints.lua SERVER SETTINGS FILE RENAMED`.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, file, renamed = unpack(arg)
local person = Person.start()
person:set_up(server, settings)
person:open(file)

-- As plugins that close pairs do.
person:lua([[
  for open, close in pairs({ ["("] = ")", ["{"] = "}", ["'"] = "'" }) do
    vim.keymap.set("i", open, open .. close .. "<Left>", { buffer = 0 })
  end
]])

--- Writes the beginning of a line and takes what follows.
local function take(keys, ghost)
  person:keys(keys)
  person:wait_for_ghost(ghost)
  person:keys("<Tab>")
  person:wait_for_no_ghost()
  person:keys("<Esc>")
end

take("Goprint(", "'hello', name")
take("Goprices = {", "'a': 1, 'b': 2")
take("Goword = '", "hello")

-- The menu of Neovim's own completion opens beside ghost text, and leaves the text as it was.
person:keys("Gop")
person:wait_for_ghost("rint(word)")
person:keys("<C-n>")
person:wait("the menu", "return vim.fn.pumvisible() == 1")
person:keys("<C-e>")
person:wait("the menu's end", "return vim.fn.pumvisible() == 0")
person:keys("<Esc>")
-- Neovim requests nothing for a key that restores, at once, the text it last requested for.
person:keys("A<BS>")
vim.wait(500)
take("p", "rint(word)")

-- What is deleted is not asked about, which the model's prompts show.
person:lua([[vim.api.nvim_buf_set_lines(0, -1, -1, false, { "    answer = 42" })]])
person:keys("GA<BS>")
vim.wait(500)
person:keys("<BS>")
vim.wait(500)
take("1", "00")

-- Undo takes an accepted completion in one step, and asks nothing.
person:lua([[vim.api.nvim_buf_set_lines(0, -1, -1, false, { "    und" })]])
person:keys("GAo")
person:wait_for_ghost(" = 1 + 2")
person:keys("<Tab>")
person:wait_for_no_ghost()
person:keys("<Esc>u")
person:wait("the undo", [[return vim.api.nvim_get_current_line() == "    undo"]])

-- A part that is accepted is a step of its own, too; `.` repeats what was typed, without it.
person:keys("Goundo")
person:wait_for_ghost(" = 1 + 2")
person:keys("<M-w>")
person:wait_for_ghost(" 1 + 2")
person:keys("<Tab>")
person:wait_for_no_ghost()
person:keys("<Esc>.")
local function lines_from(start)
  return table.concat(
    person:lua("return vim.api.nvim_buf_get_lines(0, ..., -1, false)", start),
    "|"
  )
end
local count = person:lua("return vim.api.nvim_buf_line_count(0)")
equal(lines_from(count - 2), "    undo = 1 + 2|    undo")
person:keys("uu")
equal(lines_from(count - 2), "    undo =")
person:keys("u")
equal(lines_from(count - 2), "    undo")

-- Without ghost text, a key with Alt is not Escape and another key, unless somebody mapped it.
person:lua([[vim.fn.setreg('"', "put")]])
person:keys("ozz<M-p>")
equal(lines_from(count - 2), "    undo|    zz")
equal(person:lua("return vim.api.nvim_get_mode().mode"), "i")
person:lua([[vim.keymap.set("i", "<M-p>", "mapped")]])
person:keys("<M-p><Esc>")
equal(lines_from(count - 2), "    undo|    zzmapped")
person:keys("dddd")

-- Text for a block of lines is written into the first one, and comes into the others afterwards.
person:lua([[vim.api.nvim_buf_set_lines(0, -1, -1, false, { "    one", "    two" })]])
person:keys("Gk$<C-v>jA = ")
person:wait_for_ghost("1")
person:keys("<Tab>")
person:wait_for_no_ghost()
person:keys("<Esc>")
person:wait("the block", [[return vim.fn.getline("$"):find("two = ", 1, true) ~= nil]])

person:lua("vim.cmd.saveas(...)", renamed)
take("Gob", " = a + 1")
person:lua("vim.cmd.write()")

-- A new buffer that has a type before a name is completed once it has both.
for _, command in ipairs({ "file", "write" }) do
  person:lua("vim.cmd.enew() vim.bo.filetype = 'python'")
  person:lua("vim.cmd(...)", ("%s %s/%s.py"):format(command, vim.fs.dirname(renamed), command))
  person:wait("its server", "return #vim.lsp.get_clients({ name = 'fillrate', bufnr = 0 }) == 1")
end
equal(person:said().errmsg, "")
person:leave()
