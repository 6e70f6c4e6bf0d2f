-- A person at a real Neovim: a child with a screen, driven by keys alone.
--
-- Scripts beside this one are run with `nvim -l SCRIPT SERVER FILE…` and `require("person")`.

local M = {}
M.__index = M

local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, "S").source:sub(2)))
local plugin = vim.fs.normalize(here .. "/../../../editors/nvim")

--- Timeout for anything expected, long enough for a busy machine, in milliseconds.
local TIMEOUT = 20000

--- Starts Neovim with the plugin on its path and nothing else, and looks at its screen.
---
--- @param options? { screen: boolean, width: integer, height: integer, plugin: string }
function M.start(options)
  options = vim.tbl_extend(
    "force",
    { screen = true, width = 80, height = 24, plugin = plugin },
    options or {}
  )
  local channel = vim.fn.jobstart({
    vim.v.progpath,
    "--embed",
    "--headless",
    "--clean",
    "-n",
    "--cmd",
    "set runtimepath^=" .. options.plugin,
  }, { rpc = true })
  assert(channel > 0, "the child did not start")
  local person = setmetatable({ channel = channel }, M)
  if options.screen then
    vim.rpcrequest(channel, "nvim_ui_attach", options.width, options.height, { rgb = true })
  end
  -- What is said to the person is kept.
  person:lua([[
    said, own_notify = {}, vim.notify
    vim.notify = function(message, level)
      table.insert(said, { message = message, level = level })
    end
    vim.notify_once = vim.notify
  ]])
  return person
end

--- Runs Lua in the child.
function M:lua(code, ...)
  -- Otherwise this would wait for the key as well.
  assert(not self:mode().blocking, "Neovim waits for a key")
  return vim.rpcrequest(self.channel, "nvim_exec_lua", code, { ... })
end

--- Presses keys.
function M:keys(keys)
  vim.rpcrequest(self.channel, "nvim_input", keys)
end

--- The mode, which Neovim reports while it waits for a key as well.
function M:mode()
  return vim.rpcrequest(self.channel, "nvim_get_mode")
end

--- Waits until the child says yes.
function M:wait(what, code, ...)
  local arguments = { ... }
  local value
  local yes = vim.wait(TIMEOUT, function()
    value = self:lua(code, unpack(arguments))
    return value ~= nil and value ~= vim.NIL and value ~= false
  end, 5)
  if not yes then
    error(
      ("waited in vain for %s; it says %s, and the screen is\n%s"):format(
        what,
        vim.inspect(self:said()),
        self:screen()
      ),
      2
    )
  end
  return value
end

--- Returns the notifications, the messages and the last error that the person saw.
function M:said()
  return self:lua([[
    local messages = vim.api.nvim_exec2("messages", { output = true }).output
    return { said = said, messages = messages, errmsg = vim.v.errmsg }
  ]])
end

--- The screen's contents, as text.
function M:screen()
  return self:lua([[
    vim.cmd.redraw()
    local lines = {}
    for row = 1, vim.o.lines do
      local cells = {}
      for column = 1, vim.o.columns do
        table.insert(cells, vim.fn.screenstring(row, column))
      end
      table.insert(lines, (table.concat(cells):gsub(" *$", "")))
    end
    return table.concat(lines, "\n")
  ]])
end

--- Calls `setup()`.
---
--- @param server string the program
--- @param configuration string settings file
--- @param options? table
function M:set_up(server, configuration, options)
  self:lua(
    [[require("fillrate").setup(...)]],
    vim.tbl_extend("force", {
      cmd = server,
      args = { "--config", configuration },
    }, options or {})
  )
end

--- Opens a file and waits for its server.
function M:open(file)
  self:lua("vim.cmd.edit(...)", file)
  self:wait(
    "the server",
    [[
    local client = vim.lsp.get_clients({ name = "fillrate", bufnr = 0 })[1]
    local status = client and require("fillrate.server").statuses[client.id]
    return status and (status.state == "ready" or status.state == "silent")
  ]]
  )
end

--- The ghost text on the screen; nothing where there is none.
function M:ghost()
  local text = self:lua([[
    for name, id in pairs(vim.api.nvim_get_namespaces()) do
      if name == "nvim.lsp.inline_completion" or name == "fillrate.ghost" then
        local mark = vim.api.nvim_buf_get_extmarks(0, id, 0, -1, { details = true })[1]
        if mark then
          local lines = { mark[4].virt_text or {} }
          vim.list_extend(lines, mark[4].virt_lines or {})
          local texts = vim.tbl_map(function(chunks)
            return table.concat(vim.tbl_map(function(chunk)
              return chunk[1]
            end, chunks))
          end, lines)
          return table.concat(texts, "\n")
        end
      end
    end
  ]])
  return text ~= vim.NIL and text or nil
end

--- Waits for ghost text, which may have to be a certain one.
function M:wait_for_ghost(text)
  local seen
  local yes = vim.wait(TIMEOUT, function()
    seen = self:ghost()
    return seen ~= nil and (text == nil or seen == text)
  end, 5)
  assert(
    yes,
    ("waited in vain for the ghost text %s: there is %s; %s\n%s"):format(
      vim.inspect(text),
      vim.inspect(seen),
      vim.inspect(self:said()),
      self:screen()
    )
  )
  return seen
end

--- Waits for ghost text that begins so.
function M:wait_for_ghost_of(beginning)
  local seen
  local yes = vim.wait(TIMEOUT, function()
    seen = self:ghost()
    return seen ~= nil and vim.startswith(seen, beginning)
  end, 5)
  assert(yes, ("no ghost text of %s: there is %s"):format(beginning, vim.inspect(seen)))
end

--- Waits until there is no ghost text.
function M:wait_for_no_ghost()
  assert(
    vim.wait(TIMEOUT, function()
      return self:ghost() == nil
    end, 5),
    "the ghost text stays"
  )
end

--- The buffer's text.
function M:text()
  return table.concat(self:lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), "\n")
end

--- Fails unless two values are equal.
function M.equal(got, wanted)
  if not vim.deep_equal(got, wanted) then
    error(("got\n%s\nand not\n%s"):format(vim.inspect(got), vim.inspect(wanted)), 2)
  end
end

--- Ends Neovim, and with it the server, as `:qall!` does.
function M:leave()
  vim.rpcnotify(self.channel, "nvim_command", "qall!")
  assert(vim.fn.jobwait({ self.channel }, TIMEOUT)[1] ~= -1, "Neovim does not end")
end

return M
