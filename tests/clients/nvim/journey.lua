-- Everything a person can do with ghost text, in a file of its own.
--
-- Run with `nvim -l journey.lua SERVER SETTINGS FILE core|own`. The model goes on from `b`, `c`,
-- `d` and `x` in one way each, and from nothing else.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, file, display = unpack(arg)
local person = Person.start()
person:set_up(server, settings, { core = display == "core" })
person:open(file)

--- Lines that the buffer must hold. Each stays once it is written.
local lines = { "def f(a):" }
local function expect(...)
  local now = vim.list_extend(vim.deepcopy(lines), { ... })
  local wanted = table.concat(now, "\n")
  local right = vim.wait(5000, function()
    return person:text() == wanted
  end, 5)
  if not right then
    equal(person:text(), wanted)
  end
end
local function written(...)
  expect(...)
  vim.list_extend(lines, { ... })
end

-- Tab takes all of it, as a step of its own for undo.
person:keys("Gob")
person:wait_for_ghost(" = a + 1\n    g = b")
equal(person:lua("return vim.fn.maparg('<Tab>', 'i', false, true).buffer"), 1)
person:keys("<Tab>")
expect("    b = a + 1", "    g = b")
equal(person:lua("return vim.api.nvim_win_get_cursor(0)"), { 3, 9 })
person:wait_for_no_ghost()
person:keys("<Esc>u")
expect("    b")
person:keys("<C-r>")
written("    b = a + 1", "    g = b")

-- Word by word, then by typing, then the rest.
person:keys("Goc")
person:wait_for_ghost("ount = total(a)")
person:keys("<M-w>")
expect("    count")
person:wait_for_ghost(" = total(a)")
person:keys("<M-w>")
expect("    count =")
person:wait_for_ghost(" total(a)")
person:keys(" t")
person:wait_for_ghost("otal(a)")
person:keys("<Tab>")
written("    count = total(a)")

-- Line by line: the last one makes it whole.
person:keys("<CR>d")
person:wait_for_ghost(" = 1\n    e = 2\n    g = 3")
person:keys("<M-l>")
expect("    d = 1")
person:wait_for_ghost("\n    e = 2\n    g = 3")
person:keys("<M-l>")
expect("    d = 1", "    e = 2")
person:wait_for_ghost("\n    g = 3")
person:keys("<M-l>")
written("    d = 1", "    e = 2", "    g = 3")

-- Positions are bytes for Neovim, whatever they are on the wire.
person:keys('<CR>s = "ä€😀"; x')
person:wait_for_ghost("yz = '…'\n    y = 55")
person:keys("<Tab>")
written([[    s = "ä€😀"; xyz = '…']], "    y = 55")

-- Whoever takes it by Neovim's own function is noted as well.
if display == "core" then
  person:keys("<CR>b")
  person:wait_for_ghost(" = a + 1\n    g = b")
  equal(person:lua("vim.cmd.redraw() return vim.lsp.inline_completion.get()"), true)
  written("    b = a + 1", "    g = b")
end

-- What disagrees is gone at once, and Tab is a tab again.
person:keys("<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("q")
person:wait_for_no_ghost()
equal(person:lua("return vim.fn.maparg('<Tab>', 'i', false, true).buffer"), 0)
person:keys("<Tab>")
written("    xq  ")

-- Keys that come faster than Neovim reports them don't take what was not meant.
person:keys("<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("q<Tab>r")
written("    xq  r")

-- A refusal by key leaves the text alone; without ghost text the key is Neovim's own.
person:keys("<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("<C-]>")
person:wait_for_no_ghost()
expect("    x")
person:keys("<C-]>")
written("    x")

-- Escape refuses, too.
person:keys("<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("<Esc>")
person:wait_for_no_ghost()
equal(person:lua("return vim.api.nvim_get_mode().mode"), "n")
expect("    x")

-- Off, there is none; on again, there is. The cursor's line is asked about when it is entered.
equal(person:lua([[return require("fillrate").statusline()]]), "fillrate: qwen2.5-coder")
person:lua([[vim.cmd("Fillrate toggle")]])
equal(person:lua([[return require("fillrate").statusline()]]), "fillrate: off")
person:keys("A")
vim.wait(600)
equal(person:ghost(), nil)
person:keys("<Esc>")
person:lua([[vim.cmd("Fillrate toggle")]])
equal(person:lua([[return require("fillrate").statusline()]]), "fillrate: qwen2.5-coder")
written("    x")
person:keys("A<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("<C-c>")
person:wait_for_no_ghost()
written("    x")

-- Nothing is sent during a snooze.
person:lua([[require("fillrate").snooze(5)]])
person:keys("A # snoozed")
vim.wait(600)
equal(person:ghost(), nil)
person:keys("<Esc>u")
written()
person:lua([[require("fillrate").toggle()]])

-- A mapping of one's own comes back as it was.
person:lua([[vim.keymap.set("i", "<Tab>", "own", { buffer = 0 })]])
person:keys("A<CR>x")
person:wait_for_ghost("yz = 4")
person:keys("q")
person:wait_for_no_ghost()
person:keys("<Tab>")
expect("    xqown")
person:keys("<BS><BS><BS><BS><BS>x")
person:wait_for_ghost("yz = 4")
person:keys("<Tab>")
written("    xyz = 4")
person:keys("<Esc>")

-- The server looks at what is left of accepted text when its time has come.
vim.wait(tonumber(arg[5]) or 0)
equal(person:said().errmsg, "")
local said = person:lua("return vim.tbl_map(function(one) return one.message end, said)")
equal(said, { "fillrate: Completions are off.", "fillrate: Completions are on." })
person:leave()
