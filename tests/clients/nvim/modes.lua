-- Ghost text by hand; off for a buffer, a type of files and by a function; and completion menus.
--
-- Run with `nvim -l modes.lua SERVER SETTINGS FILE`. The model goes on from single letters in one way
-- each.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local Person = require("person")
local equal = Person.equal

local server, settings, file = unpack(arg)

-- By hand: typing alone requests nothing, and what was requested stays while its beginning is typed.
local person = Person.start()
person:set_up(server, settings, { auto_trigger = false })
person:open(file)
person:lua([[
  requests = {}
  vim.api.nvim_create_autocmd("LspRequest", {
    callback = function(event)
      if event.data.request.type == "pending" then
        table.insert(requests, event.data.request.method)
      end
    end,
  })
]])
person:keys("Goc")
person:wait("the text", "return vim.api.nvim_get_current_line() == '    c'")
-- Far longer than the wait after a key.
vim.wait(500)
equal(person:ghost(), nil)
equal(person:lua("return #requests"), 0)
person:keys("<M-Bslash>")
person:wait_for_ghost("ount = total(a)")
person:keys("ou")
person:wait_for_ghost("nt = total(a)")
equal(person:lua("return #requests"), 1)
person:keys("<Tab>")
person:wait("the text", "return vim.api.nvim_get_current_line() == '    count = total(a)'")
person:wait_for_no_ghost()
-- By hand after a refusal, too.
person:keys("<CR>x<M-Bslash>")
person:wait_for_ghost("yz = 4")
person:keys("<C-]>")
person:wait_for_no_ghost()
person:keys("<M-Bslash>")
person:wait_for_ghost("yz = 4")
person:keys("<Esc>")
person:leave()

-- Off for a buffer, a type of files, and by a function.
person = Person.start()
person:lua(
  [[
    local cmd, configuration = ...
    require("fillrate").setup({
      cmd = cmd,
      args = { "--config", configuration },
      enabled = function(buf)
        return not vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1]:find("secret", 1, true)
      end,
    })
  ]],
  server,
  settings
)
person:open(file)
local function statusline()
  return person:lua([[return require("fillrate").statusline()]])
end
--- Types what the model goes on from, and gives the ghost text after a while without one.
local function nothing_after(keys)
  person:keys(keys)
  vim.wait(500)
  equal(person:ghost(), nil)
  person:keys("<Esc>")
end
for _, word in ipairs({ "buffer", "filetype" }) do
  person:lua("vim.cmd(...)", "Fillrate toggle " .. word)
  equal(
    statusline(),
    word == "buffer" and "fillrate: off in this buffer" or "fillrate: off for python"
  )
  nothing_after("Gox")
  person:lua("vim.cmd(...)", "Fillrate toggle " .. word)
  equal(statusline(), "fillrate: qwen2.5-coder")
  person:keys("Gox")
  person:wait_for_ghost("yz = 4")
  person:keys("<Esc>")
end
person:lua([[vim.api.nvim_buf_set_lines(0, 0, 1, false, { "# secret" })]])
equal(statusline(), "fillrate: off by `enabled`")
nothing_after("Gox")
person:lua([[vim.api.nvim_buf_set_lines(0, 0, 1, false, { "def f(a):" })]])

-- A tab in ghost text is as wide as it will be in the file.
person:keys("Got")
person:wait_for_ghost(" = 1   # one")
person:keys("<Tab>")
person:wait("the text", [[return vim.api.nvim_get_current_line() == "    t = 1\t# one"]])
person:keys("<Esc>")

-- The next line comes with the blank lines before it.
person:keys("Gol")
person:wait_for_ghost(" = 1\n\n    m = 2\n    n = 3")
person:keys("<M-l><M-l>")
person:wait_for_ghost("\n    n = 3")
equal(
  person:lua("return vim.api.nvim_buf_get_lines(0, -4, -1, false)"),
  { "    l = 1", "", "    m = 2" }
)
-- The server offers the rest anew meanwhile, which is a part of the same completion.
vim.wait(500)
person:keys("<Tab>")
person:wait_for_no_ghost()
person:keys("<Esc>")

-- Neovim's own menu hides ghost text, which comes back once it is closed.
person:lua([[vim.api.nvim_buf_set_lines(0, 1, -1, false, { "    print(xq, xr)" })]])
person:keys("Gox")
person:wait_for_ghost("yz = 4")
person:keys("<C-n>")
person:wait("the menu", "return vim.fn.pumvisible() == 1")
person:wait_for_no_ghost()
person:keys("<C-e>")
person:wait_for_ghost("yz = 4")
person:keys("<Esc>")

-- So do the menus of nvim-cmp and blink.cmp, by what they say of themselves.
person:lua([[
  open = false
  package.loaded["blink.cmp"] = {
    is_menu_visible = function()
      return open
    end,
  }
  function switch(now)
    open = now
    local pattern = now and "BlinkCmpMenuOpen" or "BlinkCmpMenuClose"
    vim.api.nvim_exec_autocmds("User", { pattern = pattern })
  end
]])
person:keys("Gox")
person:wait_for_ghost("yz = 4")
person:lua("switch(true)")
person:wait_for_no_ghost()
person:lua("switch(false)")
person:wait_for_ghost("yz = 4")
person:keys("<Esc>")
person:lua([[
  package.loaded["blink.cmp"] = nil
  local listeners = {}
  package.loaded["cmp"] = {
    visible = function()
      return open
    end,
    event = {
      on = function(_, name, listener)
        listeners[name] = listener
      end,
    },
  }
  function switch(now)
    open = now
    listeners[now and "menu_opened" or "menu_closed"]()
  end
]])
person:keys("Gox")
person:wait_for_ghost("yz = 4")
person:lua("switch(true)")
person:wait_for_no_ghost()
person:lua("switch(false)")
person:wait_for_ghost("yz = 4")
person:keys("<Esc>")

-- A menu's source gives whole words, which replace what is typed of them, and reports the accept.
person:lua([[
  package.loaded["cmp"] = nil
  require("fillrate").toggle(true)
  vim.g.items = nil
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "    b" })
]])
person:keys("GA")
person:wait_for_ghost(" = a + 1\n    g = b")
person:lua([[
  require("fillrate.blink").new():get_completions({}, function(response)
    items = response.items
  end)
]])
local item = person:wait("an item", "return items and items[1]")
equal(item.label, "b = a + 1 …")
equal(item.textEdit.newText, "b = a + 1\n    g = b")
equal(item.textEdit.range.start.character, 4)
equal(item.textEdit.range["end"].character, 5)
person:lua([[
  setmetatable({}, { __index = require("fillrate.cmp") }):complete({}, function(response)
    others = response.items
  end)
]])
equal(person:wait("an item of the other", "return others and others[1]").textEdit, item.textEdit)
person:lua([[
  vim.lsp.util.apply_text_edits({ others[1].textEdit }, vim.api.nvim_get_current_buf(), "utf-8")
  require("fillrate.cmp"):execute(others[1], function() end)
]])
person:keys("<Esc>")
equal(person:said().errmsg, "")
person:leave()
